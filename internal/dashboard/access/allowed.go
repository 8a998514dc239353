package access

import (
	"encoding/json"
	"slices"
	"strings"
)

// everybody who has an account, in a list of who may come in.
const everybody = "*"

// allowed is who may come in: e-mail addresses in small letters, sub:SUBJECT, group:NAME, or everybody.
type allowed []string

// parseAllowed reads a list, and returns what of it has no meaning: a name alone could be anything that an issuer lets
// people choose.
func parseAllowed(words []string) (list allowed, ignored []string) {
	for _, word := range words {
		kind, rest, _ := strings.Cut(word, ":")
		switch {
		case word == everybody, (kind == "sub" || kind == "group") && rest != "":
			list = append(list, word)
		case strings.Contains(strings.Trim(word, "@"), "@"):
			list = append(list, strings.ToLower(word))
		default:
			ignored = append(ignored, word)
		}
	}
	return list, ignored
}

// account is what an issuer says of somebody.
type account struct {
	Subject  string  `json:"sub"`
	Email    string  `json:"email"`
	Verified claim   `json:"email_verified"`
	Name     string  `json:"preferred_username"`
	Groups   several `json:"groups"`
}

// email is an address that the issuer knows to be the account's own: others are whatever somebody typed.
func (a account) email() string {
	if !a.Verified {
		return ""
	}
	return strings.ToLower(a.Email)
}

// shown is how the account is called here.
func (a account) shown() string {
	for _, name := range []string{a.email(), a.Name, a.Subject} {
		name = strings.Join(strings.Fields(strings.Map(printable, name)), " ")
		if name != "" {
			return strings.ToValidUTF8(name[:min(len(name), longestName)], "")
		}
	}
	return "somebody"
}

// longestName is far above any.
const longestName = 128

func printable(r rune) rune {
	if r < ' ' || r == 0x7f || r >= 0x80 && r < 0xa0 || r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069 {
		return -1
	}
	return r
}

// has says whether an account is on the list.
func (list allowed) has(a account) bool {
	ids := []string{everybody, "sub:" + a.Subject}
	if email := a.email(); email != "" {
		ids = append(ids, email)
	}
	for _, group := range a.Groups {
		ids = append(ids, "group:"+group)
	}
	return slices.ContainsFunc(ids, func(id string) bool { return slices.Contains(list, id) })
}

// claim is true or false, which some issuers write as a text.
type claim bool

func (c *claim) UnmarshalJSON(data []byte) error {
	text := string(data)
	*c = text == "true" || text == `"true"`
	return nil
}

// several are texts, or one that stands alone. What is neither is none.
type several []string

func (s *several) UnmarshalJSON(data []byte) error {
	var one string
	if json.Unmarshal(data, &one) == nil {
		*s = several{one}
		return nil
	}
	var all []any
	*s = nil
	if json.Unmarshal(data, &all) == nil {
		for _, each := range all {
			if text, ok := each.(string); ok {
				*s = append(*s, text)
			}
		}
	}
	return nil
}
