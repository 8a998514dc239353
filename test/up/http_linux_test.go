package up

import (
	"io"
	"net/http"
	"net/http/cookiejar"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var oneTime = regexp.MustCompile(`http://127\.0\.0\.1:\d+/auth/once\?token=[\w-]+`)

// browser is somebody with cookies.
func browser() *http.Client {
	jar, _ := cookiejar.New(nil)
	return &http.Client{Jar: jar}
}

// get returns an answer's status and body.
func get(t *testing.T, c *http.Client, address string) (int, string) {
	t.Helper()
	answer, err := c.Get(address)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	body, _ := io.ReadAll(answer.Body)
	return answer.StatusCode, string(body)
}

// call asks the gateway with its key, which is in the home's file of variables.
func (w *world) call(method, path, body string) (int, string) {
	w.t.Helper()
	r, err := http.NewRequest(method, "http://127.0.0.1:"+w.gateway+path, strings.NewReader(body))
	if err != nil {
		w.t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+w.key())
	r.Header.Set("Content-Type", "application/json")
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		w.t.Fatal(err)
	}
	defer answer.Body.Close()
	text, _ := io.ReadAll(answer.Body)
	return answer.StatusCode, string(text)
}

func (w *world) key() string {
	w.t.Helper()
	text, err := os.ReadFile(filepath.Join(w.home, ".env"))
	if err != nil {
		w.t.Fatal(err)
	}
	_, key, _ := strings.Cut(string(text), "API_SERVER_KEY=")
	return strings.TrimSpace(key)
}
