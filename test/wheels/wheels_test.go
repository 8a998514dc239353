package wheels

import (
	"bytes"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

var (
	leaf  = Wheel{Name: "Leaf.Pkg", Version: "1.2", Files: map[string]string{"leaf/__init__.py": "answer = 42\n"}}
	stem  = Wheel{Name: "stem", Version: "3", Requires: []string{"leaf-pkg>=1"}, Files: map[string]string{"stem.py": "import leaf\n"}}
	newer = Wheel{Name: "leaf-pkg", Version: "2.0", Uploaded: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), Files: map[string]string{"leaf/__init__.py": ""}}
)

// The wheels are valid to both tools, and the index answers as they expect: the closure of stem is found, fetched
// and checked, and its modules work.
func TestRealToolsInstallFromTheIndex(t *testing.T) {
	for name, installer := range tools(t) {
		for _, pages := range []string{"json", "html"} {
			t.Run(name+"/"+pages, func(t *testing.T) {
				index := Serve(t, leaf, stem)
				if pages == "html" {
					index.HTMLOnly()
				}
				into := t.TempDir()
				if out, err := installer(index.URL, into, "stem"); err != nil {
					t.Fatalf("%v\n%s", err, out)
				}
				out, err := exec.Command(python, "-I", "-c", "import sys; sys.path.append(sys.argv[1]); import stem; print(stem.leaf.answer)", into).CombinedOutput()
				if err != nil || string(out) != "42\n" {
					t.Fatalf("%v %s", err, out)
				}
				if index.Hits(leaf.FileName()) == 0 || index.Hits("leaf-pkg") == 0 || index.Hits("nothing") != 0 {
					t.Errorf("hits are not counted: %v", index.hits)
				}
			})
		}
	}
}

// What goes wrong on request goes wrong for the real tools, too.
func TestFaultsReachTheTools(t *testing.T) {
	for name, installer := range tools(t) {
		for fault, broken := range map[string]struct {
			file  string
			fault Fault
		}{
			"cut":    {leaf.FileName(), Fault{Cut: true}},
			"wrong":  {leaf.FileName(), Fault{Wrong: true}},
			"absent": {leaf.FileName(), Fault{Status: http.StatusNotFound}},
			"page":   {"leaf-pkg", Fault{Status: http.StatusNotFound}},
		} {
			if name == "pip" && fault != "cut" && fault != "wrong" {
				continue // pip takes seconds, and a status is a status
			}
			t.Run(name+"/"+fault, func(t *testing.T) {
				t.Parallel()
				index := Serve(t, leaf)
				index.Break(broken.file, broken.fault)
				if out, err := installer(index.URL, t.TempDir(), "leaf-pkg"); err == nil {
					t.Errorf("it was installed:\n%s", out)
				}
				index.Break(broken.file, Fault{})
				if name == "pip" {
					return
				}
				if out, err := installer(index.URL, t.TempDir(), "leaf-pkg"); err != nil {
					t.Errorf("mended: %v\n%s", err, out)
				}
			})
		}
	}
}

// Upload times are there in JSON and only there.
func TestUploadTimes(t *testing.T) {
	uv := tools(t)["uv"]
	if uv == nil {
		t.Skip("there is no uv")
	}
	index := Serve(t, leaf, newer)
	into := t.TempDir()
	if out, err := uv(index.URL, into, "leaf-pkg", "--exclude-newer", "2025-01-01T00:00:00Z"); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if _, err := os.Stat(filepath.Join(into, leaf.DistInfo())); err != nil {
		t.Error("the newer one was not left out")
	}
	index.HTMLOnly()
	if out, err := uv(index.URL, t.TempDir(), "leaf-pkg", "--exclude-newer", "2025-01-01T00:00:00Z"); err == nil {
		t.Errorf("a mirror without upload times satisfied a limit on them:\n%s", out)
	}
}

func TestAFaultEndsAfterItsTimes(t *testing.T) {
	index := Serve(t, leaf)
	index.Break("*", Fault{Status: 500, Times: 2})
	for i, want := range []int{500, 500, 200, 200} {
		if status, _ := get(t, index.URL+"leaf-pkg/", time.Minute); status != want {
			t.Errorf("request %d: %d, not %d", i, status, want)
		}
	}
}

func TestASilentIndexAnswersNobody(t *testing.T) {
	index := Serve(t, leaf)
	index.Break("leaf-pkg", Fault{Silent: true})
	if status, _ := get(t, index.URL+"leaf-pkg/", 200*time.Millisecond); status != 0 {
		t.Errorf("it answered %d", status)
	}
	index.Break("leaf-pkg", Fault{Delay: 50 * time.Millisecond})
	began := time.Now()
	if status, _ := get(t, index.URL+"leaf-pkg/", time.Minute); status != 200 || time.Since(began) < 50*time.Millisecond {
		t.Errorf("%d after %v", status, time.Since(began))
	}
}

func TestLogin(t *testing.T) {
	index := Serve(t, leaf)
	with := index.Login("me", "s3cret")
	if status, _ := get(t, index.URL+"leaf-pkg/", time.Minute); status != http.StatusUnauthorized {
		t.Errorf("a stranger got %d", status)
	}
	if status, page := get(t, with+"leaf-pkg/", time.Minute); status != 200 || !strings.Contains(page, leaf.FileName()) {
		t.Errorf("%d %s", status, page)
	}
}

func TestTheSameWheelIsTheSameFile(t *testing.T) {
	if !bytes.Equal(stem.Bytes(), stem.Bytes()) {
		t.Error("two builds differ")
	}
}

// get returns status 0 if no answer comes.
func get(t *testing.T, url string, patience time.Duration) (status int, body string) {
	t.Helper()
	client := &http.Client{Timeout: patience}
	resp, err := client.Get(url)
	if err != nil {
		return 0, ""
	}
	defer resp.Body.Close()
	data, _ := io.ReadAll(resp.Body)
	return resp.StatusCode, string(data)
}

// tools are the installers that this machine has: each installs a requirement from an index into a directory.
func tools(t *testing.T) map[string]func(index, into, requirement string, more ...string) (string, error) {
	all := make(map[string]func(string, string, string, ...string) (string, error))
	t.Run("pip", func(t *testing.T) {
		pip := Pip(t)
		all["pip"] = func(index, into, requirement string, more ...string) (string, error) {
			return run(append(append(pip, "install", "--isolated", "--disable-pip-version-check", "--no-cache-dir", "--retries", "0", "--index-url", index, "--target", into, requirement), more...))
		}
	})
	t.Run("uv", func(t *testing.T) {
		uv := UV(t)
		all["uv"] = func(index, into, requirement string, more ...string) (string, error) {
			return run(append([]string{uv, "pip", "install", "--python", python, "--no-config", "--no-python-downloads", "--no-cache", "--index-url", index, "--target", into, requirement}, more...))
		}
	})
	return all
}

func run(command []string) (string, error) {
	home, err := os.MkdirTemp("", "home-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(home)
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Env = []string{"PATH=/usr/bin:/bin", "HOME=" + home, "LANG=C.UTF-8", "UV_HTTP_RETRIES=0", "NO_PROXY=127.0.0.1"}
	out, err := cmd.CombinedOutput()
	return string(out), err
}
