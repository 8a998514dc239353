package wire

import (
	"encoding/json"
	"unicode/utf8"
)

// ExecVariable is in the environment of every command. Its value ends with the id of
// the execution.
const ExecVariable = "HERMES_EXEC_ID"

// execFields is Exec without its methods.
type execFields Exec

// execForm is how an Exec travels. JSON holds text only, while arguments, values
// and paths may be any bytes: where they are, every character stands for a byte.
type execForm struct {
	execFields
	Bytes bool `json:"bytes,omitempty"`
}

// MarshalJSON keeps bytes that are no text.
func (e Exec) MarshalJSON() ([]byte, error) {
	f := execForm{execFields: execFields(e)}
	f.Bytes = !e.isText()
	if f.Bytes {
		f.execFields = execFields(e.each(widen))
	}
	return json.Marshal(f)
}

// UnmarshalJSON is its opposite.
func (e *Exec) UnmarshalJSON(data []byte) error {
	var f execForm
	if err := json.Unmarshal(data, &f); err != nil {
		return err
	}
	*e = Exec(f.execFields)
	if f.Bytes {
		*e = e.each(narrow)
	}
	return nil
}

func (e Exec) isText() bool {
	text := true
	e.each(func(s string) string {
		text = text && utf8.ValidString(s)
		return s
	})
	return text
}

// each returns e with every string that a caller gave put through f.
func (e Exec) each(f func(string) string) Exec {
	e.ID, e.Line, e.Session, e.Cwd = f(e.ID), f(e.Line), f(e.Session), f(e.Cwd)
	argv := make([]string, len(e.Argv))
	for i, a := range e.Argv {
		argv[i] = f(a)
	}
	env := make(map[string]string, len(e.Env))
	for name, value := range e.Env {
		env[f(name)] = f(value)
	}
	e.Argv, e.Env = argv, env
	return e
}

// widen makes a character of every byte.
func widen(s string) string {
	wide := make([]rune, len(s))
	for i := range len(s) {
		wide[i] = rune(s[i])
	}
	return string(wide)
}

func narrow(s string) string {
	bytes := make([]byte, 0, len(s))
	for _, r := range s {
		bytes = append(bytes, byte(r))
	}
	return string(bytes)
}
