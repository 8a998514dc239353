package api_test

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hermes.example/hermes/client"
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
