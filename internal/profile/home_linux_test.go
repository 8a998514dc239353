package profile

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

func newHome(t *testing.T) *Home { return &Home{Root: t.TempDir()} }

func (h *Home) put(t *testing.T, path, content string) {
	t.Helper()
	path = filepath.Join(h.Root, path)
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(content), 0o644)); err != nil {
		t.Fatal(err)
	}
}

func (h *Home) content(t *testing.T, path string) string {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(h.Root, path))
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

func TestOddStateFilesAreNoState(t *testing.T) {
	h := newHome(t)
	file := filepath.Join(h.Root, StateFile)
	outside := filepath.Join(t.TempDir(), "outside")
	if err := os.WriteFile(outside, []byte(`{"desired_state":"running"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	for what, make := range map[string]func() error{
		"empty":     func() error { return os.WriteFile(file, nil, 0o644) },
		"blank":     func() error { return os.WriteFile(file, []byte(" \n"), 0o644) },
		"an array":  func() error { return os.WriteFile(file, []byte(`[{"desired_state":"running"}]`), 0o644) },
		"a string":  func() error { return os.WriteFile(file, []byte(`"running"`), 0o644) },
		"null":      func() error { return os.WriteFile(file, []byte("null"), 0o644) },
		"cut short": func() error { return os.WriteFile(file, []byte(`{"desired_state":"runn`), 0o644) },
		"two":       func() error { return os.WriteFile(file, []byte(`{"desired_state":"running"}{}`), 0o644) },
		"deep":      func() error { return os.WriteFile(file, []byte(`{"a":`+strings.Repeat("[", 1<<19)), 0o644) },
		"huge": func() error {
			return os.WriteFile(file, []byte(`{"desired_state":"running"}`+strings.Repeat(" ", largest)), 0o644)
		},
		"a link":      func() error { return os.Symlink(outside, file) },
		"a directory": func() error { return os.Mkdir(file, 0o755) },
		"a pipe":      func() error { return syscall.Mkfifo(file, 0o644) },
	} {
		os.Remove(file)
		if err := make(); err != nil {
			t.Fatal(err)
		}
		state, warning := h.State(Default)
		if state != (State{}) || warning == nil || !strings.Contains(warning.Error(), file) {
			t.Errorf("%s: %+v, %v", what, state, warning)
		}
	}
	os.Remove(file)
	if state, warning := h.State(Default); state != (State{}) || warning != nil {
		t.Errorf("no file: %+v, %v", state, warning)
	}
	h.put(t, StateFile, "\ufeff"+`{"desired_state":"running","pid":7}`)
	if state, warning := h.State(Default); state != (State{Desired: Running, PID: 7, Found: true}) || warning != nil {
		t.Errorf("with a mark of its encoding: %+v, %v", state, warning)
	}
}

func TestWhatIsWantedIsWrittenBesideTheOtherKeys(t *testing.T) {
	h := newHome(t)
	h.Now = func() time.Time { return time.Unix(1700000000, 5) }
	h.put(t, "profiles/coder/"+StateFile, `{"gateway_state":"running","big":12345678901234567890,"platforms":{"x":[1]},"desired_state":"running"}`)
	if err := h.SetDesired("coder", Stopped); err != nil {
		t.Fatal(err)
	}
	var got map[string]json.RawMessage
	if err := json.Unmarshal([]byte(h.content(t, "profiles/coder/"+StateFile)), &got); err != nil {
		t.Fatal(err)
	}
	want := map[string]string{"gateway_state": `"running"`, "big": "12345678901234567890", "desired_state": `"stopped"`, "updated_at": "1700000000"}
	for key, value := range want {
		if string(got[key]) != value {
			t.Errorf("%s is %s", key, got[key])
		}
	}
	if len(got) != 5 {
		t.Errorf("the keys are %v", got)
	}
}

func TestAStateFileThatCannotBeUnderstoodIsBegunAnew(t *testing.T) {
	h := newHome(t)
	outside := filepath.Join(t.TempDir(), "outside")
	if err := errors.Join(os.WriteFile(outside, []byte("theirs"), 0o644), os.Symlink(outside, filepath.Join(h.Root, StateFile))); err != nil {
		t.Fatal(err)
	}
	for _, content := range []string{"", "[1]", "{"} {
		if content != "" {
			h.put(t, StateFile, content)
		}
		if err := h.SetDesired(Default, Running); err != nil {
			t.Fatal(err)
		}
		if state, warning := h.State(Default); state.Desired != Running || warning != nil {
			t.Errorf("after %q: %+v, %v", content, state, warning)
		}
	}
	if content, _ := os.ReadFile(outside); string(content) != "theirs" {
		t.Errorf("the link was followed: %q", content)
	}
}

func TestNothingIsWrittenForAProfileThatIsNotThere(t *testing.T) {
	h := newHome(t)
	if err := h.SetDesired("nobody", Running); err != nil {
		t.Error(err)
	}
	if entries, _ := os.ReadDir(h.Root); len(entries) > 0 {
		t.Errorf("%v was made", entries)
	}
	if err := h.SetDesired("../x", Running); err == nil {
		t.Error("a bad name was taken")
	}
}

// TestMain is also the other process of the next test.
func TestMain(m *testing.M) {
	if root := os.Getenv("PROFILE_TEST_WRITER"); root != "" {
		h := &Home{Root: root}
		for i := range 60 {
			if err := h.Record("coder", map[string]any{fmt.Sprintf("%s%d", os.Getenv("PROFILE_TEST_KEY"), i): i}); err != nil {
				fmt.Fprintln(os.Stderr, err)
				os.Exit(1)
			}
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func TestWritersInTwoProcessesLoseNoKey(t *testing.T) {
	h := newHome(t)
	h.put(t, "profiles/coder/"+Mark, "")
	var writers sync.WaitGroup
	for _, key := range []string{"a", "b", "c"} {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), "PROFILE_TEST_WRITER="+h.Root, "PROFILE_TEST_KEY="+key)
		writers.Go(func() {
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("%v: %s", err, out)
			}
		})
	}
	writers.Wait()
	var got map[string]any
	if err := json.Unmarshal([]byte(h.content(t, "profiles/coder/"+StateFile)), &got); err != nil || len(got) != 3*60+1 {
		t.Errorf("%d keys are there, %v", len(got), err)
	}
	if entries, _ := os.ReadDir(h.Dir("coder")); len(entries) != 2 {
		t.Errorf("something was left behind: %v", entries)
	}
}

func TestAWriterThatHangsIsPassedOver(t *testing.T) {
	h := newHome(t)
	dir, err := os.Open(h.Root)
	if err != nil {
		t.Fatal(err)
	}
	defer dir.Close()
	if err := syscall.Flock(int(dir.Fd()), syscall.LOCK_EX); err != nil {
		t.Fatal(err)
	}
	if err := h.SetDesired(Default, Stopped); err != nil {
		t.Fatal(err)
	}
	if state, _ := h.State(Default); state.Desired != Stopped {
		t.Errorf("%+v", state)
	}
}

func TestAPlannedStopIsForOneProcessAndForAMinute(t *testing.T) {
	now := time.Unix(1700000000, 0)
	h := newHome(t)
	h.Now = func() time.Time { return now }
	h.put(t, "profiles/coder/"+Mark, "")
	if h.StopPlanned("coder", 42) {
		t.Error("planned by nobody")
	}
	if err := h.PlanStop("coder", 42); err != nil {
		t.Fatal(err)
	}
	if got := h.content(t, "profiles/coder/.gateway-planned-stop.json"); got != `{"pid":42,"at":1700000000}` {
		t.Errorf("the marker is %s", got)
	}
	if h.StopPlanned("coder", 41) {
		t.Error("it is taken for another process'")
	}
	if now = now.Add(59 * time.Second); !h.StopPlanned("coder", 42) {
		t.Error("it is not found")
	}
	if h.StopPlanned("coder", 42) {
		t.Error("it is found twice")
	}
	if err := h.PlanStop("coder", 42); err != nil {
		t.Fatal(err)
	}
	if now = now.Add(60 * time.Second); h.StopPlanned("coder", 42) {
		t.Error("an old one counts")
	}
	if err := h.PlanStop("nobody", 1); err == nil {
		t.Error("it was written nowhere")
	}
}

func TestTracesOfAnEarlierMachineAreRemoved(t *testing.T) {
	h := newHome(t)
	if left, err := h.ClearStale(Default); left || err != nil {
		t.Errorf("%v, %v", left, err)
	}
	h.put(t, PIDFile, "7")
	h.put(t, processesFile, "[]")
	h.put(t, "mine", "")
	if left, err := h.ClearStale(Default); !left || err != nil {
		t.Errorf("%v, %v", left, err)
	}
	if entries, _ := os.ReadDir(h.Root); len(entries) != 1 {
		t.Errorf("%v is left", entries)
	}
	h.put(t, processesFile+"/x", "")
	if _, err := h.ClearStale(Default); err == nil || !strings.Contains(err.Error(), processesFile) {
		t.Errorf("a directory in its place: %v", err)
	}
	if left, err := h.ClearStale("nobody"); left || err != nil {
		t.Errorf("of nobody: %v, %v", left, err)
	}
}
