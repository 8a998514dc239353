package api_test

import (
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"hermes.example/hermes/client"
	"hermes.example/hermes/internal/image/hostimage"
	"hermes.example/hermes/sandbox"
)

// Who has the key is not thereby somebody of the machine: no file of it becomes a sandbox, and nobody is told which there
// are.
func TestFilesOfTheMachineAreNoImagesForCallers(t *testing.T) {
	w := newWorld(t)
	file := filepath.Join(t.TempDir(), "there")
	if err := os.WriteFile(file, []byte("a secret"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, image := range []string{"archive:" + file, "archive:" + file + "-not", "oci:" + filepath.Dir(file), "oci:/nowhere#name"} {
		w.refused(client.CodeForbidden, "PUT", "/v1/sandboxes/work", strings.NewReader(`{"image":"`+image+`"}`), "Content-Type", "application/json")
	}
}

// What cannot be a task's name is the caller's mistake on every route, and makes nothing.
func TestWhatIsNoTaskIsRefusedEverywhere(t *testing.T) {
	w := newWorld(t)
	for _, task := range []string{"%00", "%ff"} {
		for _, r := range []struct{ method, part, body string }{
			{"PUT", "", ""}, {"GET", "", ""}, {"DELETE", "", ""}, {"POST", "/exec", `{"line":"true"}`}, {"GET", "/exec/x", ""}, {"DELETE", "/exec/x", ""},
			{"POST", "/processes", `{"line":"true"}`}, {"GET", "/processes", ""}, {"GET", "/files?path=x", ""}, {"PUT", "/files?path=x", ""},
			{"POST", "/fork", `{"tasks":["x"]}`}, {"GET", "/events", ""},
		} {
			w.refused(client.CodeBadRequest, r.method, "/v1/sandboxes/"+task+r.part, strings.NewReader(r.body), "Content-Type", "application/json")
		}
	}
	if all, err := w.client.Sandboxes(t.Context()); err != nil || len(all) != 0 {
		t.Errorf("there are sandboxes now: %v, %v", all, err)
	}
}

// Names that would be ways elsewhere are names.
func TestATaskMayHaveAnyName(t *testing.T) {
	w := newWorld(t).begin()
	for _, task := range []string{"%2e%2e", "a%2Fb", "..%2F..%2Fetc", strings.Repeat("x", 300), "%E2%98%83", "-x", "a%0Ab"} {
		answer, text := w.ask("POST", "/v1/sandboxes/"+task+"/exec", strings.NewReader(`{"line":"echo $PWD"}`), "Content-Type", "application/json")
		if answer.StatusCode != http.StatusOK || !strings.Contains(text, `"text":"/workspace\n"`) {
			t.Errorf("%s: %d %s", task, answer.StatusCode, text)
		}
	}
}

// A sandbox is made as the caller wants it, looked at, copied with its files and removed, all by the API.
func TestSandboxesAreEnsuredForkedAndRemoved(t *testing.T) {
	w := newWorld(t).begin()
	ctx := t.Context()
	pids := int64(77)
	spec := client.SandboxSpec{Env: map[string]string{"COLOUR": "green"}, Pids: &pids}
	made, err := w.client.Task("made").Ensure(ctx, spec)
	if err != nil || made.Spec.Limits.Pids != 77 || made.State != sandbox.Running {
		t.Fatalf("%+v, %v", made, err)
	}
	if r, out := w.run("made", "echo $COLOUR"); r.Code != 0 || out != "green\n" {
		t.Errorf("%+v, %q", r, out)
	}
	sheet, err := w.client.Task("made").Inspect(ctx)
	if err != nil || len(sheet.Posture.Facts) == 0 {
		t.Errorf("%+v, %v", sheet, err)
	}

	programs, err := hostimage.FromHost("bash", "sh", "cat", "sleep", "echo")
	if err != nil {
		t.Fatal(err)
	}
	image, err := hostimage.Write(filepath.Join(t.TempDir(), "image"), hostimage.Config{}, programs, hostimage.Base())
	if err != nil {
		t.Fatal(err)
	}
	box, err := w.boxes.Obtain(ctx, "first", &sandbox.Spec{Image: image})
	if err != nil {
		t.Fatal(err)
	}
	if err := box.Close(); err != nil {
		t.Fatal(err)
	}
	if r, out := w.run("first", "echo one >/etc/mark; cat /etc/mark"); r.Code != 0 || out != "one\n" {
		t.Fatalf("%+v, %q", r, out)
	}
	forked, err := w.client.Task("first").Fork(ctx, "second", "third")
	if err != nil || !slices.Equal(forked.Tasks, []string{"second", "third"}) {
		t.Fatalf("%+v, %v", forked, err)
	}
	if r, out := w.run("second", "cat /etc/mark; echo two >/etc/mark"); r.Code != 0 || out != "one\n" {
		t.Errorf("the copy has %q, %+v", out, r)
	}
	for _, other := range []string{"first", "third"} {
		if _, out := w.run(other, "cat /etc/mark"); out != "one\n" {
			t.Errorf("%s has %q of another", other, out)
		}
	}
	if _, err := w.client.Task("first").Fork(ctx, "second"); err == nil {
		t.Error("a copy takes the place of a sandbox that is there")
	}
	if removed, err := w.client.Task("second").Remove(ctx, true); err != nil || !slices.Equal(removed.Removed, []string{"second"}) {
		t.Errorf("%+v, %v", removed, err)
	}
	list, err := w.client.Sandboxes(ctx)
	var tasks []string
	for _, s := range list {
		tasks = append(tasks, s.Identity.Task)
	}
	slices.Sort(tasks)
	if err != nil || !slices.Equal(tasks, []string{"first", "made", "third", "work"}) {
		t.Errorf("%q, %v", tasks, err)
	}
}

// run runs a line in a task's sandbox.
func (w *world) run(task, line string) (sandbox.Result, string) {
	w.t.Helper()
	var out strings.Builder
	r, err := w.client.Task(task).Exec(w.t.Context(), client.Exec{Line: line}, client.ExecOptions{Stdout: &out, Stderr: &out})
	if err != nil {
		w.t.Fatal(err)
	}
	return r, out.String()
}
