package wire

import (
	"encoding/json"
	"unicode/utf8"
)

// The frames of sessions that go from a guest that ends to the one in its place.
const (
	TypeHanded    Type = 80 // one session: Handed
	TypeInherit   Type = 81 // take sessions: each a Handed, then OK; answered with Inherited
	TypeInherited Type = 82 // what became of them: Inherited
)

// CanHandOver is a guest that knows the frames above, and Retire.HandOver.
const CanHandOver = "handover"

// Most that is handed over at a time, whoever sends it.
const (
	MaxHanded      = 1024
	MaxHandedBytes = 64 << 20
)

// Handed is a session on its way. It has everything of a session, in the form that
// the guest keeps it in; who takes it looks at it as at the report of a shell.
type Handed struct {
	Name      string            `json:"name"`
	Cwd       string            `json:"cwd"`
	Env       map[string]string `json:"env,omitempty"`
	Attrs     map[string]string `json:"attrs,omitempty"`
	Functions map[string]string `json:"functions,omitempty"`
	Aliases   map[string]string `json:"aliases,omitempty"`
	// PlainEnv and PlainCwd are those of commands without a session, where it comes
	// from: what a session shares with them follows the sandbox.
	PlainEnv map[string]string `json:"plain_env,omitempty"`
	PlainCwd string            `json:"plain_cwd,omitempty"`
	// Lost says why there is no more of it than its name.
	Lost string `json:"lost,omitempty"`
}

// Inherited says which sessions go on, and in one line why others do not.
type Inherited struct {
	Sessions []string `json:"sessions,omitempty"`
	Lost     string   `json:"lost,omitempty"`
}

// handedFields is Handed without its methods.
type handedFields Handed

// handedForm is how a Handed travels: as an Exec does, because values of variables
// may be any bytes.
type handedForm struct {
	handedFields
	Bytes bool `json:"bytes,omitempty"`
}

// MarshalJSON keeps bytes that are no text.
func (h Handed) MarshalJSON() ([]byte, error) {
	f := handedForm{handedFields: handedFields(h)}
	h.each(func(s string) string {
		f.Bytes = f.Bytes || !utf8.ValidString(s)
		return s
	})
	if f.Bytes {
		f.handedFields = handedFields(h.each(widen))
	}
	return json.Marshal(f)
}

// UnmarshalJSON is its opposite.
func (h *Handed) UnmarshalJSON(data []byte) error {
	var f handedForm
	if err := json.Unmarshal(data, &f); err != nil {
		return err
	}
	*h = Handed(f.handedFields)
	if f.Bytes {
		*h = h.each(narrow)
	}
	return nil
}

// each returns h with every string of the session put through f.
func (h Handed) each(f func(string) string) Handed {
	h.Name, h.Cwd, h.PlainCwd = f(h.Name), f(h.Cwd), f(h.PlainCwd)
	for _, m := range []*map[string]string{&h.Env, &h.Attrs, &h.Functions, &h.Aliases, &h.PlainEnv} {
		mapped := make(map[string]string, len(*m))
		for name, value := range *m {
			mapped[f(name)] = f(value)
		}
		*m = mapped
	}
	return h
}
