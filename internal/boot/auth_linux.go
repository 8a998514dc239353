package boot

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"time"
)

const (
	authFile = "auth.json"
	authMode = 0o600
	// provider is the only entry that a second seed may replace.
	provider = "nous"
)

// credentials seeds a new home's, once: tokens change while they are used, and an old seed would end the session.
// A second variable brings back a session that has ended for good.
func credentials(_ context.Context, b *boot) error {
	first, again := b.env("HERMES_AUTH_JSON_BOOTSTRAP"), b.env("HERMES_AUTH_JSON_REBOOTSTRAP")
	if first == "" && again == "" {
		return nil
	}
	v, err := b.authHome()
	if err != nil {
		return err
	}
	if v != b.home {
		defer v.root.Close()
	}
	dir := b.authDir(v)
	if err := v.mkdir(dir); err != nil {
		return err
	}
	return seedCredentials(v, path.Join(dir, authFile), first, again)
}

func seedCredentials(v *volume, file, first, again string) error {
	absent, err := v.absent("seed", file)
	switch {
	case err != nil:
		return err
	case absent && first != "":
		if _, err := object([]byte(first)); err != nil {
			return fmt.Errorf("cannot use HERMES_AUTH_JSON_BOOTSTRAP: %w", err)
		}
		return v.write(file, []byte(first), authMode)
	case absent || again == "":
		return nil
	}
	now, err := v.read(file)
	if err != nil {
		return err
	}
	then, err := reseed(now, []byte(again))
	if err != nil {
		return fmt.Errorf("cannot use HERMES_AUTH_JSON_REBOOTSTRAP: %w", err)
	}
	if then == nil {
		return nil
	}
	return v.write(file, then, authMode)
}

// session is what of a provider's entry decides whether a seed replaces it.
type session struct {
	ObtainedAt    any `json:"obtained_at"`
	LastAuthError struct {
		ReloginRequired bool `json:"relogin_required"`
	} `json:"last_auth_error"`
}

// reseed puts the seed's entry of the provider into the file, if the one there is dead or older. Nothing else of
// the file changes. It returns nil if there is nothing to do.
func reseed(file, seed []byte) ([]byte, error) {
	whole, err := object(file)
	if err != nil {
		return nil, err
	}
	providers, err := object(whole["providers"])
	if err != nil {
		return nil, err
	}
	seeded, err := object(seed)
	if err != nil {
		return nil, err
	}
	entries, err := object(seeded["providers"])
	if err != nil {
		return nil, err
	}
	fresh, old := entries[provider], providers[provider]
	if fresh == nil || old == nil || same(fresh, old) {
		return nil, nil
	}
	var from, to session
	if err := errors.Join(decode(old, &from), decode(fresh, &to)); err != nil {
		return nil, err
	}
	if !from.LastAuthError.ReloginRequired && !later(to.ObtainedAt, from.ObtainedAt) {
		return nil, nil
	}
	providers[provider] = fresh
	if whole["providers"], err = json.Marshal(providers); err != nil {
		return nil, err
	}
	then, err := json.Marshal(whole) // not indented: a deep file would grow with the square of its depth
	return append(then, '\n'), err
}

func same(a, b json.RawMessage) bool {
	var x, y bytes.Buffer
	return json.Compact(&x, a) == nil && json.Compact(&y, b) == nil && bytes.Equal(x.Bytes(), y.Bytes())
}

// later compares two times, as seconds or as text. Times that cannot be compared are not later.
func later(a, b any) bool {
	x, ok := moment(a)
	y, also := moment(b)
	return ok && also && x.After(y)
}

func moment(value any) (time.Time, bool) {
	switch v := value.(type) {
	case float64:
		return time.UnixMicro(int64(v * 1e6)), true
	case string:
		t, err := time.Parse(time.RFC3339, v)
		return t, err == nil
	}
	return time.Time{}, false
}

// object reads a JSON object, with a byte order mark before it or not. Its errors show nothing of the content.
func object(text []byte) (map[string]json.RawMessage, error) {
	var o map[string]json.RawMessage
	if err := decode(bytes.TrimPrefix(text, []byte("\ufeff")), &o); err != nil {
		return nil, err
	}
	if o == nil {
		return nil, errors.New("it is not a JSON object")
	}
	return o, nil
}

func decode(text []byte, to any) error {
	if json.Unmarshal(text, to) != nil {
		return errors.New("it is not a JSON object")
	}
	return nil
}
