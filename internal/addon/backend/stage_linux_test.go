package backend

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"hermes.example/hermes/internal/addon/unavailable"
	"hermes.example/hermes/sandbox"
	"hermes.example/hermes/sandbox/engine/local"
)

// bound is longer than anything here takes on a busy machine.
const bound = 60 * time.Second

// secret is a credential that is never to be seen.
const secret = "sk-3f9c-never-seen"

// stage is a home in which backends run.
type stage struct {
	testing.TB
	home    string
	manager *sandbox.Manager
}

// interpreter is one that starts quickly: a server of a test needs the standard library only.
const interpreter = "/usr/bin/python3"

func newStage(t testing.TB) *stage {
	t.Helper()
	if _, err := os.Stat(interpreter); err != nil {
		t.Skip("there is no ", interpreter)
	}
	// A socket's path must be short.
	run, err := os.MkdirTemp("", "hermes-backend")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(run) })
	t.Setenv("XDG_RUNTIME_DIR", run)
	engine, err := local.New(local.Options{})
	if err != nil {
		t.Fatal(err)
	}
	s := &stage{TB: t, home: t.TempDir(), manager: sandbox.NewManager(engine, sandbox.Options{NoSweep: true})}
	t.Cleanup(func() {
		left, err := s.manager.List(context.Background(), s.home)
		if err != nil || len(left) > 0 {
			t.Errorf("sandboxes are left: %v, %v", left, err)
		}
		if err := s.manager.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func (s *stage) ctx() context.Context {
	ctx, cancel := context.WithTimeout(s.Context(), bound)
	s.Cleanup(cancel)
	return ctx
}

// launch is how the tests' server is started.
func (s *stage) launch(args ...string) Launch { return server(s.home, args...) }

func server(home string, args ...string) Launch {
	script, err := filepath.Abs("testdata/server.py")
	if err != nil {
		panic(err)
	}
	return Launch{
		Feature: "test.server", Argv: append([]string{interpreter, "-I", "-S", script}, args...), Dir: home,
		Env: map[string]string{"API_KEY": secret, "HOME": home}, Secrets: []string{"API_KEY"},
		Bounds: Bounds{Start: bound, Call: bound / 3},
	}
}

func (s *stage) start(l Launch) *Backend {
	s.Helper()
	b, err := Start(s.ctx(), s.manager, s.home, l)
	if err != nil {
		s.Fatal(err)
	}
	s.Cleanup(func() {
		if err := b.Close(); err != nil {
			s.Error(err)
		}
	})
	return b
}

// called is a tool's structured answer.
func (s *stage) called(b *Backend, tool string, args any) map[string]any {
	s.Helper()
	result, err := b.Call(s.ctx(), tool, marshal(args))
	if err != nil {
		s.Fatalf("%s: %v", tool, err)
	}
	var answer map[string]any
	if err := json.Unmarshal(result.Structured, &answer); err != nil || result.Failed {
		s.Fatalf("%s: %s %s, %v", tool, result.Structured, result.Content, err)
	}
	return answer
}

func marshal(v any) json.RawMessage {
	if args, ok := v.(object); ok && args == nil {
		return nil
	}
	text, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return text
}

// fails expects an error that says that the backend is unavailable, with words and without secrets.
func (s *stage) fails(err error, words ...string) {
	s.Helper()
	if !errors.Is(err, unavailable.Backend) {
		s.Fatalf("%v", err)
	}
	for _, word := range append(words, "test.server") {
		if !strings.Contains(err.Error(), word) {
			s.Errorf("no %q in %q", word, err)
		}
	}
	if strings.Contains(err.Error(), secret) || strings.Contains(err.Error(), "\n") {
		s.Errorf("%q", err)
	}
}

// begun waits until a backend has been called so often.
func (s *stage) begun(b *Backend, calls int) {
	s.Helper()
	ctx := s.ctx()
	for s.called(b, "begun", object{})["others"].(float64) < float64(calls) {
		if ctx.Err() != nil {
			s.Fatal("the calls do not arrive")
		}
	}
}

// gone waits for the end of a backend.
func (s *stage) gone(b *Backend) {
	s.Helper()
	select {
	case <-b.Done():
	case <-s.ctx().Done():
		s.Fatal("it does not end")
	}
}

type object = map[string]any
