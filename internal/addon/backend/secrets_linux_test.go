package backend

import (
	"bytes"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"hermes.example/hermes/internal/addon/unavailable"
	"hermes.example/hermes/sandbox"
)

// A credential is in the environment of the one process that is for it, and nowhere else: in no arguments, in no other
// process's variables, in no file of the home, in no log and in no error.
func TestWhereCredentialsAre(t *testing.T) {
	d := newDesk(t)
	var log bytes.Buffer
	p := d.pool(func(o *Options) {
		o.Log = slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	})
	vars := map[string]string{"API_KEY": secret, "OTHER_KEY": "sk-of-the-other-one"}
	mine, other := d.process(p, "core.server", vars), d.process(p, "core.other", vars)
	having := map[string][]int{}
	forEachProcess(t, func(pid int) {
		for _, file := range []string{"cmdline", "environ"} {
			text, _ := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), file))
			if strings.Contains(string(text), secret) {
				having[file] = append(having[file], pid)
			}
		}
	})
	if len(having["cmdline"]) > 0 || len(having["environ"]) != 1 || having["environ"][0] != mine {
		t.Errorf("it is in %v; the backend is %d, the other %d", having, mine, other)
	}
	for _, file := range grep(t, d.home, secret) {
		t.Errorf("it is in %s", file)
	}
	_, err := p.Call(d.ctx(), "core.server", "crash", nil, vars)
	if !errors.Is(err, unavailable.Backend) || !strings.Contains(err.Error(), "about to crash with ***") || strings.Contains(err.Error(), secret) {
		t.Error(err)
	}
	d.becomes(p, Ready) // the other one
	p.Close()
	if text := log.String(); strings.Contains(text, secret) || !strings.Contains(text, "about to crash") {
		t.Errorf("%s", text)
	}
}

func forEachProcess(t *testing.T, do func(pid int)) {
	t.Helper()
	entries, err := os.ReadDir("/proc")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if pid, err := strconv.Atoi(e.Name()); err == nil {
			do(pid)
		}
	}
}

// grep lists the files below a directory that have a text.
func grep(t *testing.T, dir, text string) (found []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, e os.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() {
			return err
		}
		content, err := os.ReadFile(path)
		if bytes.Contains(content, []byte(text)) {
			found = append(found, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// Where Landlock holds, and the posture says whether it does, a backend cannot read another's variables, although both
// are the same user's. Its own are the control.
func TestABackendCannotReadAnothersCredentials(t *testing.T) {
	s := newStage(t)
	one, other := s.start(s.launch()), s.start(s.launch())
	pid := s.called(one, "environment", object{})["pid"]
	if answer := s.called(one, "peek", object{"pid": pid}); !strings.Contains(answer["seen"].(string), secret) {
		t.Fatalf("not shown: its own cannot be read: %v", answer)
	}
	posture, err := one.box.Posture(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range posture.Facts {
		if f.Name == sandbox.FactIsolation && f.Value == "none" {
			t.Skipf("Landlock does not hold here, and the posture says so: %s", f.Deviation)
		}
	}
	if answer := s.called(other, "peek", object{"pid": pid}); answer["refused"] != "Permission denied" {
		t.Errorf("%v", answer)
	}
}
