package install

import (
	"strings"
	"testing"
	"time"

	"hermes.example/hermes/internal/addon/lock"
	"hermes.example/hermes/test/wheels"
)

func resolve(t *testing.T, i Installer, w Wish) (lock.Lock, error) {
	t.Helper()
	l, err := i.Resolve(t.Context(), w)
	i.checkClean(t)
	return l, err
}

func names(l lock.Lock) string {
	var all []string
	for _, p := range l.Packages {
		all = append(all, p.String())
	}
	return strings.Join(all, " ")
}

func TestTry(t *testing.T) {
	x := wheels.Serve(t,
		wheels.Wheel{Name: "app", Version: "1.0", Requires: []string{"dep>=2"}},
		wheels.Wheel{Name: "app", Version: "1.1", Requires: []string{"dep>=2"}, Uploaded: time.Now()},
		wheels.Wheel{Name: "dep", Version: "1.0"}, wheels.Wheel{Name: "dep", Version: "2.0"}, wheels.Wheel{Name: "dep", Version: "2.1"})
	i := installer(t, withUV(t), x.URL)
	l, err := resolve(t, i, Wish{Feature: "f", Specs: []string{"app"}})
	t.Log(names(l), err)
	l, err = resolve(t, i, Wish{Feature: "f", Specs: []string{"app"}, Core: map[string]string{"dep": "2.0", "other": "1"}})
	t.Log(names(l), err)
	l, err = resolve(t, i, Wish{Feature: "f", Specs: []string{"app"}, Core: map[string]string{"dep": "1.0", "other": "1"}})
	t.Log(names(l), err)
	l, err = resolve(t, i, Wish{Feature: "f", Specs: []string{"app==1.1"}, Core: map[string]string{}})
	t.Log(names(l), err)
	x.HTMLOnly()
	i = installer(t, i.Runtime, x.URL)
	l, err = resolve(t, i, Wish{Feature: "f", Specs: []string{"app"}, Core: map[string]string{"dep": "2.0", "other": "1"}})
	t.Log(names(l), err)
}
