package install

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"hermes.example/hermes/internal/addon/lastwords"
	"hermes.example/hermes/internal/addon/sealed"
	sealedtest "hermes.example/hermes/test/sealed"
	"hermes.example/hermes/test/wheels"
)

// A96: what the list does not have is not installed, though a package asks for it.
func TestA96ExactlyTheListIsInstalled(t *testing.T) {
	tools(t, func(t *testing.T, r *sealed.Runtime) {
		x := wheels.Serve(t, append(sample(), wheels.Wheel{Name: "never-installed", Version: "1"})...)
		i, into := installer(t, r, x.URL), target(t)
		var events []Event
		i.Progress = func(e Event) { events = append(events, e) }
		before := sealedtest.Fingerprint(t, r.Root)
		if err := install(t, i, locked(sample()...), into); err != nil {
			t.Fatal(err)
		}
		if got := installed(t, into); !reflect.DeepEqual(got, []string{"alpha", "beta.py"}) {
			t.Errorf("there is %v", got)
		}
		if sealedtest.Fingerprint(t, r.Root) != before {
			t.Error("the runtime has changed") // A99
		}
		if first, last := events[0], events[len(events)-1]; first.Phase != Downloading || first.Size == 0 || last.Phase != Installing || last.Done != 2 || last.Total != 2 {
			t.Errorf("the progress was %v", events)
		}
	})
}

// A99, with the pip that Python carries: even that one leaves the core as it is.
// What uv would write for itself would only have to be removed again, and every RECORD be written anew without it.
func TestUVLeavesNoNotes(t *testing.T) {
	all := sample()
	i := installer(t, withUV(t), wheels.Serve(t, all...).URL)
	into := target(t)
	if err := install(t, i, locked(all...), into); err != nil {
		t.Fatal(err)
	}
	for _, w := range all {
		record, err := os.ReadFile(filepath.Join(into, w.DistInfo(), "RECORD"))
		if err != nil {
			t.Fatal(err)
		}
		for _, note := range []string{"INSTALLER", "REQUESTED"} {
			if _, err := os.Lstat(filepath.Join(into, w.DistInfo(), note)); err == nil || bytes.Contains(record, []byte(note)) {
				t.Errorf("%s has %s", w.Name, note)
			}
		}
	}
}

func TestA99EnsurepipLeavesTheCoreAsItIs(t *testing.T) {
	t.Parallel()
	r := venv(t)
	if out, err := runPython(r, "-c", "import ensurepip; ensurepip.version()"); err != nil {
		t.Skipf("this Python carries no pip: %s", out)
	}
	x := wheels.Serve(t, sample()...)
	i, into := installer(t, r, x.URL), target(t)
	i.Timeout = 2 * bound
	before := sealedtest.Fingerprint(t, r.Root)
	if err := install(t, i, locked(sample()...), into); err != nil {
		t.Fatal(err)
	}
	if got := installed(t, into); !reflect.DeepEqual(got, []string{"alpha", "beta.py"}) {
		t.Errorf("there is %v", got)
	}
	if sealedtest.Fingerprint(t, r.Root) != before {
		t.Error("the runtime has changed")
	}
}

// A102, with the real one.
func TestA102TheIndexOfPipsFileIsUsed(t *testing.T) {
	x := wheels.Serve(t, sample()...)
	i := installer(t, withUV(t), "")
	write(t, i.FilesRoot, "etc/pip.conf", "[global]\nindex-url = "+x.URL+"\n")
	if err := install(t, i, locked(sample()...), target(t)); err != nil || x.Requests() == 0 {
		t.Errorf("%v after %d requests", err, x.Requests())
	}
}

// D42: wheels only, each with a hash, and none of a package's code runs.
func TestD42OnlyWheelsWithTheirHashes(t *testing.T) {
	marker := filepath.Join(t.TempDir(), "ran")
	touch := "open(" + fmt.Sprintf("%q", marker) + ", 'w').close()\n"
	source := wheels.Source{Name: "gamma", Version: "1.0", Setup: touch}
	// Whoever builds it needs this, and would run it.
	backend := wheels.Wheel{Name: "setuptools", Version: "80.0", Files: map[string]string{"setuptools/__init__.py": touch, "setuptools/build_meta.py": touch}}
	tools(t, func(t *testing.T, r *sealed.Runtime) {
		x := wheels.Serve(t, append(sample(), backend)...)
		x.AddSource(source)
		i := installer(t, r, x.URL)
		sdist := packages()
		sdist[0].Name, sdist[0].Hashes = "gamma", []string{fmt.Sprintf("sha256:%x", sha256.Sum256(source.Bytes()))}
		if err := install(t, i, sdist, target(t)); err == nil {
			t.Error("a source was installed")
		}
		if _, err := os.Stat(marker); err == nil {
			t.Error("code of a package ran")
		}
		other := locked(sample()[0])
		other[0].Hashes = packages()[0].Hashes
		into := target(t)
		if err := install(t, i, other, into); err == nil || len(installed(t, into)) > 0 {
			t.Errorf("%v; there is %v", err, installed(t, into))
		}
	})
	none := locked(sample()[0])
	none[0].Hashes = nil
	if err := install(t, installer(t, fake(t, map[string]string{"uv": ""}), ""), none, target(t)); err == nil {
		t.Error("a package without a hash was installed")
	}
}

// D50: what was installed once is there again without any network.
func TestD50InstalledAgainWithoutTheNetwork(t *testing.T) {
	tools(t, func(t *testing.T, r *sealed.Runtime) {
		x := wheels.Serve(t, sample()...)
		i := installer(t, r, x.URL)
		if err := install(t, i, locked(sample()...), target(t)); err != nil {
			t.Fatal(err)
		}
		x.Break("*", wheels.Fault{Status: http.StatusServiceUnavailable})
		asked := x.Requests()
		for _, offline := range []bool{false, true} {
			i.Offline = offline
			into := target(t)
			if err := install(t, i, locked(sample()...), into); err != nil || len(installed(t, into)) != 2 {
				t.Errorf("offline %v: %v", offline, err)
			}
		}
		if x.Requests() != asked {
			t.Errorf("the index was asked %d times more", x.Requests()-asked)
		}
		missing := locked(wheels.Wheel{Name: "delta", Version: "1"})
		if err := install(t, i, missing, target(t)); err == nil {
			t.Error("what was never there was installed")
		}
	})
}

// D50: uv takes the wheels that pip kept.
func TestD50UVTakesWhatPipKept(t *testing.T) {
	r := withUV(t)
	i := installer(t, r, "http://127.0.0.1:1/") // where nobody answers
	if err := os.MkdirAll(i.Cache, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(wheels.Dir(t, sample()...), i.wheels()); err != nil {
		t.Fatal(err)
	}
	if err := install(t, i, locked(sample()...), target(t)); err != nil {
		t.Error(err)
	}
	// A wheel that was cut short is no reason to install it, nor to give up before the index was asked.
	half := filepath.Join(i.wheels(), sample()[0].FileName())
	if err := os.Truncate(half, 100); err != nil {
		t.Fatal(err)
	}
	x := wheels.Serve(t, sample()...)
	i.Environ = append(i.Environ, "UV_DEFAULT_INDEX="+x.URL)
	i.Cache = moved(t, i.Cache)
	if err := install(t, i, locked(sample()...), target(t)); err != nil || x.Requests() == 0 {
		t.Errorf("%v after %d requests", err, x.Requests())
	}
}

// What a crash of the machine made of the cache is installed again and again, until somebody asks for a fresh start.
func TestAFreshStartForgetsTheCache(t *testing.T) {
	x := wheels.Serve(t, sample()...)
	i := installer(t, withUV(t), x.URL)
	contents := func() string {
		t.Helper()
		into := target(t)
		if err := install(t, i, locked(sample()...), into); err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(filepath.Join(into, "beta.py"))
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	good := contents()
	cached, err := filepath.Glob(filepath.Join(i.Cache, "uv/archive-v0/*/beta.py"))
	if err != nil || len(cached) != 1 {
		t.Fatalf("in the cache is %v, %v", cached, err)
	}
	if err := os.Truncate(cached[0], 0); err != nil {
		t.Fatal(err)
	}
	if got := contents(); got != "" {
		t.Errorf("uv has looked at its cache again: %q; Fresh is needed no more", got)
	}
	i.Fresh = true
	if got := contents(); got != good {
		t.Errorf("it is %q", got)
	}
	i.Offline = true // when there is nothing but the cache
	if got := contents(); got != good {
		t.Errorf("offline it is %q", got)
	}
}

// moved is the cache elsewhere, with only its wheels.
func moved(t *testing.T, cache string) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.Rename(filepath.Join(cache, "wheels"), filepath.Join(dir, "wheels")); err != nil {
		t.Fatal(err)
	}
	return dir
}

// An index that fails in the middle, or sends something else, leaves nothing, and the next attempt succeeds.
func TestAnIndexThatFailsIsSaid(t *testing.T) {
	t.Parallel()
	t.Run("pip", func(t *testing.T) { failing(t, withPip(t), wheels.Fault{Wrong: true}) })
	for name, fault := range map[string]wheels.Fault{
		"cut":     {Cut: true},
		"wrong":   {Wrong: true},
		"refused": {Status: http.StatusForbidden},
		"broken":  {Status: http.StatusInternalServerError},
	} {
		t.Run("uv "+name, func(t *testing.T) { failing(t, withUV(t), fault) })
	}
}

func failing(t *testing.T, r *sealed.Runtime, fault wheels.Fault) {
	t.Helper()
	x := wheels.Serve(t, sample()...)
	x.Break(sample()[0].FileName(), fault)
	i, into := installer(t, r, x.URL), target(t)
	err := install(t, i, locked(sample()...), into)
	if err == nil || !strings.Contains(err.Error(), "alpha") || len(installed(t, into)) > 0 {
		t.Errorf("%v; there is %v", err, installed(t, into))
	}
	x.Break(sample()[0].FileName(), wheels.Fault{})
	if err := install(t, i, locked(sample()...), into); err != nil {
		t.Errorf("when it was mended: %v", err)
	}
}

func TestASlowIndexIsWaitedFor(t *testing.T) {
	x := wheels.Serve(t, sample()...)
	x.Break("*", wheels.Fault{Delay: 500 * time.Millisecond})
	if err := install(t, installer(t, withUV(t), x.URL), locked(sample()...), target(t)); err != nil {
		t.Error(err)
	}
}

// An index that never answers: the time is over, nothing is left running, and what the index was told to keep to
// itself shows nowhere.
func TestASilentIndexEndsWithTheTimeAndShowsNoSecret(t *testing.T) {
	tools(t, func(t *testing.T, r *sealed.Runtime) {
		x := wheels.Serve(t, sample()...)
		address := x.Login("somebody", "hunter%2/")
		x.Break("*", wheels.Fault{Silent: true})
		var log bytes.Buffer
		i := installer(t, r, address, "UV_INDEX_OTHER_PASSWORD=another-secret")
		i.Timeout = 2 * time.Second
		i.Log = slog.New(slog.NewTextHandler(&log, nil))
		ended := make(chan error)
		ctx, cancel := context.WithTimeout(t.Context(), bound)
		defer cancel()
		go func() { ended <- i.Install(ctx, locked(sample()...), target(t)) }()
		seen := make(map[string]bool)
		var err error
		for running := true; running; {
			select {
			case err = <-ended:
				running = false
			case <-time.After(20 * time.Millisecond):
				for _, p := range childrenOf(i) {
					seen[commandLine(p)] = true
				}
			}
		}
		if err == nil || !strings.Contains(err.Error(), "mirror") {
			t.Error(err)
		}
		if left := childrenOf(i); len(left) > 0 {
			t.Errorf("still running: %v", left)
		}
		if len(seen) == 0 || !strings.Contains(log.String(), "requirements.txt") {
			t.Errorf("nothing was seen: %v, %s", seen, &log)
		}
		for what, text := range map[string]string{"error": err.Error(), "log": log.String(), "command lines": fmt.Sprint(seen)} {
			for _, secret := range []string{"hunter", "somebody", "another-secret"} {
				if strings.Contains(text, secret) {
					t.Errorf("the %s has %s: %s", what, secret, text)
				}
			}
		}
	})
}

// An index that refuses the login says so, without the login.
func TestAWrongLoginShowsNoSecret(t *testing.T) {
	x := wheels.Serve(t, sample()...)
	address := x.Login("somebody", "hunter%2/")
	if err := install(t, installer(t, withUV(t), address), locked(sample()...), target(t)); err != nil {
		t.Fatalf("with the right one: %v", err)
	}
	x.Login("somebody", "changed-since")
	err := install(t, installer(t, withUV(t), address), locked(sample()...), target(t))
	if err == nil || strings.Contains(err.Error(), "hunter") {
		t.Error(err)
	}
}

// What an installer's environment has of secrets.
func TestSecretsAreHidden(t *testing.T) {
	var s lastwords.Secrets
	learn(&s, environment{
		"A": "http://user:p%40ss%2Fword@h/x http://token-alone@h/ name=http://h/?key=in-the-query", "UV_INDEX_X_PASSWORD": "by-name", "PATH": "/bin",
	})
	text := s.Hide("p@ss/word p%40ss%2Fword token-alone key=in-the-query by-name /bin http://x:y@h/z https://a@h")
	if want := "*** *** *** *** *** /bin http://***@h/z https://***@h"; text != want {
		t.Errorf("%q", text)
	}
}

func runPython(r *sealed.Runtime, args ...string) (string, error) {
	out, err := runCommand(r.Python(), slices.Concat([]string{"-I", "-B"}, args)...)
	return out, err
}
