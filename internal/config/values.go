package config

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// decode takes the JSON of a variable apart; in the file it is so already.
func (s setting) decode(expected string) (setting, error) {
	text, ok := s.value.(string)
	if !ok || s.where != "" {
		return s, nil
	}
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.UseNumber() // a number is passed on as it was written
	var value any
	if err := decoder.Decode(&value); err != nil || decoder.More() {
		return s, s.wrong(expected)
	}
	s.value = value
	return s, nil
}

// list takes a list, and notes what is none.
func (s setting) list(ignored *[]string) []any {
	list, ok := s.value.([]any)
	if !ok && s.value != nil {
		*ignored = append(*ignored, fmt.Sprintf("cannot use %s%s: it is not a list; it is ignored", s.name, s.where))
	}
	return list
}

// texts takes the texts of a list, trimmed, and notes what is none.
func (s setting) texts(ignored *[]string) []string {
	var found []string
	for i, value := range s.list(ignored) {
		text, ok := value.(string)
		if text = strings.TrimSpace(text); !ok || text == "" {
			*ignored = append(*ignored, s.entry(i, "it is not a text"))
			continue
		}
		found = append(found, text)
	}
	return found
}

// names takes the names of variables in a list, each once. What is none is not shown:
// it may be a name with its value.
func (s setting) names(ignored *[]string) []string {
	var found []string
	for i, value := range s.list(ignored) {
		name, ok := value.(string)
		if name = strings.TrimSpace(name); !ok || !IsName(name) {
			*ignored = append(*ignored, s.entry(i, "it is not the name of a variable"))
			continue
		}
		if !slices.Contains(found, name) {
			found = append(found, name)
		}
	}
	return found
}

func (s setting) entry(i int, why string) string {
	return fmt.Sprintf("cannot use entry %d of %s%s: %s; it is ignored", i+1, s.name, s.where, why)
}

// variables takes names with values. What cannot be a value is noted by its kind.
func (s setting) variables(ignored *[]string) map[string]Secret {
	object, ok := s.value.(map[string]any)
	if !ok && s.value != nil {
		*ignored = append(*ignored, fmt.Sprintf("cannot use %s%s: it is not a list of names with values; it is ignored", s.name, s.where))
	}
	var found map[string]Secret
	for _, key := range slices.Sorted(maps.Keys(object)) {
		name := strings.TrimSpace(key)
		if !IsName(name) {
			shown, _, _ := strings.Cut(name, "=") // behind it there would be a value
			*ignored = append(*ignored, fmt.Sprintf("cannot use %q of %s%s: it is not the name of a variable; it is ignored", shown, s.name, s.where))
			continue
		}
		value, kind := scalar(object[key])
		if kind != "" {
			*ignored = append(*ignored, fmt.Sprintf("cannot use %s of %s%s: its value is %s, not a text, a number or a truth; it is ignored", name, s.name, s.where, kind))
			continue
		}
		if found == nil {
			found = make(map[string]Secret)
		}
		found[name] = NewSecret(value)
	}
	return found
}

// scalar returns a value as the text that it has always been for commands, Python's;
// or what kind of value has none.
func scalar(value any) (text, kind string) {
	switch v := value.(type) {
	case string:
		if strings.ContainsRune(v, 0) || !utf8.ValidString(v) {
			return "", "bytes"
		}
		return v, ""
	case bool:
		if v {
			return "True", ""
		}
		return "False", ""
	case json.Number:
		if strings.ContainsAny(v.String(), ".eE") {
			f, err := v.Float64()
			if err != nil {
				return "", "a number that is too large"
			}
			return float(f), ""
		}
		return v.String(), ""
	case float64:
		return float(v), ""
	case int, int64, uint64:
		return fmt.Sprint(v), ""
	case nil:
		return "", "nothing"
	case []any:
		return "", "a list"
	case map[string]any:
		return "", "a list of names with values"
	}
	return "", fmt.Sprintf("a %T", value)
}

// float writes a number as Python does: always with a point or an exponent, and
// the latter only where it is shorter.
func float(f float64) string {
	switch {
	case math.IsNaN(f):
		return "nan"
	case math.IsInf(f, 0):
		return strings.ToLower(strings.TrimPrefix(strconv.FormatFloat(f, 'g', -1, 64), "+"))
	case f != 0 && (math.Abs(f) < 1e-4 || math.Abs(f) >= 1e16):
		return strconv.FormatFloat(f, 'e', -1, 64)
	}
	text := strconv.FormatFloat(f, 'f', -1, 64)
	if !strings.Contains(text, ".") {
		text += ".0"
	}
	return text
}

// IsName says whether s can name a variable in every shell.
func IsName(s string) bool {
	for i, r := range s {
		letter := r == '_' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z'
		if !letter && (i == 0 || r < '0' || r > '9') {
			return false
		}
	}
	return s != ""
}
