package access

import (
	"context"
	"encoding/base64"
	"strings"
	"testing"

	"golang.org/x/crypto/scrypt"

	"hermes.example/hermes/internal/config"
)

// known was made by Python's hashlib.scrypt of "correct horse", as the Hermes agent makes them.
const known = "scrypt$16384$8$1$AAECAwQFBgcICQoLDA0ODw==$JbN2hANm9NOw4h5BRHZnbjzQ6Jr0QwNWojTOC2WgIbU="

func credentials(user, password, hash, secret string) config.BasicAuth {
	return config.BasicAuth{Username: user, Password: config.NewSecret(password), PasswordHash: config.NewSecret(hash), Secret: config.NewSecret(secret), TTL: config.DefaultSessionTTL}
}

// cheap is a login that costs nothing to check, for tests of other things.
func cheap(user, password, secret string) config.BasicAuth {
	salt := []byte("of every test...")
	key, err := scrypt.Key([]byte(password), salt, 2, 1, 1, keySize)
	if err != nil {
		panic(err)
	}
	return credentials(user, "", "scrypt$2$1$1$"+base64.StdEncoding.EncodeToString(salt)+"$"+base64.StdEncoding.EncodeToString(key), secret)
}

func TestPasswordsAreChecked(t *testing.T) {
	for name, c := range map[string]config.BasicAuth{
		"a password": credentials("me", "correct horse", "", ""),
		"a hash":     credentials("me", "", known, ""),
	} {
		b, _, err := newBasic(c)
		if err != nil {
			t.Fatal(err)
		}
		for _, test := range []struct {
			user, password string
			right          bool
		}{
			{"me", "correct horse", true}, {"me", "wrong", false}, {"me", "", false}, {"you", "correct horse", false},
			{"", "correct horse", false}, {"ME", "correct horse", false},
		} {
			if got, err := b.verify(t.Context(), test.user, test.password); err != nil || got != test.right {
				t.Errorf("%s: %q %q: %v, %v", name, test.user, test.password, got, err)
			}
		}
	}
}

// A name that nobody has must not be told from a wrong password by how long the answer takes.
func TestEveryTryCostsTheSame(t *testing.T) {
	b, _, err := newBasic(credentials("me", "pw", "", ""))
	if err != nil {
		t.Fatal(err)
	}
	var costs []int
	b.derive = func(password, salt []byte, n, r, p, size int) ([]byte, error) {
		costs = append(costs, n*r*p)
		return scrypt.Key(password, salt, n, r, p, size)
	}
	for _, user := range []string{"me", "nobody", ""} {
		b.verify(t.Context(), user, "wrong")
	}
	if len(costs) != 3 || costs[0] != costs[1] || costs[1] != costs[2] || costs[0] != 16384*8 {
		t.Errorf("costs %v", costs)
	}
}

func TestOneWhoWaitsTooLongIsLetGo(t *testing.T) {
	b, _, err := newBasic(credentials("me", "pw", "", ""))
	if err != nil {
		t.Fatal(err)
	}
	for range cap(b.turns) {
		b.turns <- struct{}{}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if right, err := b.verify(ctx, "me", "pw"); right || err == nil {
		t.Errorf("%v, %v", right, err)
	}
}

// However many try at once, so many are heard, and the others are told at once to come again.
func TestSoManyWaitForTheirPasswordToBeChecked(t *testing.T) {
	b, _, err := newBasic(cheap("me", "pw", ""))
	if err != nil {
		t.Fatal(err)
	}
	begun, checked := make(chan struct{}), make(chan struct{})
	derive := b.derive
	b.derive = func(password, salt []byte, n, r, p, size int) ([]byte, error) {
		begun <- struct{}{}
		<-checked
		return derive(password, salt, n, r, p, size)
	}
	answers := make(chan error)
	for range mostTries + 10 {
		go func() {
			_, err := b.verify(t.Context(), "me", "pw")
			answers <- err
		}()
	}
	for range 10 {
		if err := <-answers; err == nil || !strings.Contains(err.Error(), "too many") {
			t.Errorf("one too many: %v", err)
		}
	}
	for range cap(b.turns) {
		<-begun
	}
	close(checked)
	go func() {
		for range begun {
		}
	}()
	for range mostTries {
		if err := <-answers; err != nil {
			t.Error(err)
		}
	}
	if _, err := b.verify(t.Context(), "me", "pw"); err != nil {
		t.Errorf("afterwards: %v", err)
	}
	close(begun)
}

func TestWhenThereIsALogin(t *testing.T) {
	for name, test := range map[string]struct {
		c      config.BasicAuth
		usable bool
		says   string
	}{
		"nothing":                {credentials("", "", "", ""), false, ""},
		"a secret alone":         {credentials("", "", "", "a secret of some length"), false, ""},
		"a name alone":           {credentials("me", "", "", ""), false, "no password"},
		"a password alone":       {credentials("", "pw", "", ""), false, "no name"},
		"both":                   {credentials("me", "pw", "", ""), true, ""},
		"a short secret":         {credentials("me", "pw", "", "short"), false, "16 bytes"},
		"no hash":                {credentials("me", "", "hunter2", ""), false, "not of the form"},
		"another kind":           {credentials("me", "", strings.Replace(known, "scrypt", "bcrypt", 1), ""), false, "not of the form"},
		"no power of two":        {credentials("me", "", strings.Replace(known, "16384", "16383", 1), ""), false, "not of the form"},
		"all memory":             {credentials("me", "", strings.Replace(known, "16384", "1073741824", 1), ""), false, "too much memory"},
		"all memory, otherwise":  {credentials("me", "", strings.Replace(known, "$8$", "$9999999$", 1), ""), false, "too much memory"},
		"all processors":         {credentials("me", "", strings.Replace(known, "$8$1$", "$8$100000$", 1), ""), false, "not of the form"},
		"a number that is none":  {credentials("me", "", strings.Replace(known, "16384", "-2", 1), ""), false, "not of the form"},
		"a hash without a salt":  {credentials("me", "", "scrypt$16384$8$1$$AAAA", ""), false, "not of the form"},
		"a hash without padding": {credentials("me", "", strings.ReplaceAll(known, "=", ""), ""), true, ""},
	} {
		b, key, err := newBasic(test.c)
		if (b != nil) != test.usable || (len(key) > 0) != test.usable {
			t.Errorf("%s: usable %v, %v", name, b != nil, err)
		}
		if test.says == "" && err != nil || test.says != "" && (err == nil || !strings.Contains(err.Error(), test.says)) {
			t.Errorf("%s: %v", name, err)
		}
		if err != nil && strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: it shows what it was given", name)
		}
	}
}
