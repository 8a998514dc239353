package store

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"hermes.example/hermes/internal/addon/lock"
	"hermes.example/hermes/internal/addon/manifest"
	"hermes.example/hermes/internal/rmtree"
)

const (
	abi311, tag311 = "3.11:.cpython-311-x86_64-linux-gnu.so", "cpython-311-x86_64-linux-gnu"
	abi312, tag312 = "3.12:.cpython-312-x86_64-linux-gnu.so", "cpython-312-x86_64-linux-gnu"
)

// TestMain lets the test program be one of the processes that use a store.
func TestMain(m *testing.M) {
	if name := os.Getenv("STORE_ROLE"); name != "" {
		if err := play(name, os.Args[1], os.Args[2:]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// play waits until it may begin, and does what its role says in the store at target.
func play(role, target string, args []string) error {
	s, err := Open(target, abi311, tag311, Options{})
	if err != nil {
		return err
	}
	fmt.Println("ready")
	if _, err := bufio.NewReader(os.Stdin).ReadString('\n'); err != nil {
		return err
	}
	return roles[role](context.Background(), s, args)
}

// player is a process with a role.
type player struct {
	*exec.Cmd
	begin func()
	out   io.Reader
	err   *strings.Builder
}

// launch starts a process, which waits for begin.
func launch(t *testing.T, role, target string, args ...string) *player {
	t.Helper()
	p := &player{Cmd: exec.Command(os.Args[0], append([]string{target}, args...)...), err: new(strings.Builder)}
	// The race detector would let each of them sleep for a second at its end.
	p.Env = append(os.Environ(), "STORE_ROLE="+role, "GORACE=atexit_sleep_ms=0")
	p.Stderr = p.err
	p.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	in, err := p.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if p.out, err = p.StdoutPipe(); err != nil {
		t.Fatal(err)
	}
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	p.begin = func() { in.Write([]byte("go\n")) }
	return p
}

// start launches a process, and returns when it waits.
func start(t *testing.T, role, target string, args ...string) *player {
	t.Helper()
	p := launch(t, role, target, args...)
	if line, err := bufio.NewReader(p.out).ReadString('\n'); line != "ready\n" {
		t.Fatalf("%q %v %s", line, err, p.err)
	}
	return p
}

// open opens a store in a directory of the test's.
func open(t testing.TB, target, abi, tag string) *Store {
	t.Helper()
	s, err := Open(target, abi, tag, Options{Warn: func(err error) { t.Error(err) }})
	if err != nil {
		t.Fatal(err)
	}
	// Whoever is not root cannot remove a directory that is closed, and the test's own is removed without opening it.
	t.Cleanup(func() {
		if err := rmtree.Empty(s.target); err != nil {
			t.Error(err)
		}
	})
	return s
}

func writer(t testing.TB, s *Store) *Writer {
	t.Helper()
	w, err := s.Write(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// stage fills a place with features, and describes what is there.
func stage(t testing.TB, w *Writer, features ...string) (Staged, manifest.Manifest) {
	t.Helper()
	staged, err := w.Stage()
	if err != nil {
		t.Fatal(err)
	}
	if err := fill(staged, features...); err != nil {
		t.Fatal(err)
	}
	m, err := describeStaged(staged, abi311, features...)
	if err != nil {
		t.Fatal(err)
	}
	return staged, m
}

// publish makes the features, and nothing else, the current generation.
func publish(t testing.TB, s *Store, features ...string) Generation {
	t.Helper()
	w := writer(t, s)
	defer w.Close()
	g, err := install(t.Context(), w, features...)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// install stages the files of features and publishes them.
func install(ctx context.Context, w *Writer, features ...string) (Generation, error) {
	staged, err := w.Stage()
	if err != nil {
		return Generation{}, err
	}
	if err := fill(staged, features...); err != nil {
		return Generation{}, err
	}
	m, err := describeStaged(staged, w.abi, features...)
	if err != nil {
		return Generation{}, err
	}
	return w.Publish(ctx, staged, m, func(string) ([]byte, error) { return []byte("{}\n"), nil })
}

// each is how many modules the package of a feature has.
const each = 12

// fill makes a package for each feature.
func fill(staged Staged, features ...string) error {
	for _, feature := range features {
		files := map[string]string{dist(feature) + "-1.0.dist-info/METADATA": "Name: " + dist(feature) + "\n", dist(feature) + "/bin/tool": "#!/bin/sh\n"}
		for i := range each {
			files[fmt.Sprintf("%s/m%d.py", dist(feature), i)] = fmt.Sprintf("# %s %d\n", feature, i)
		}
		for name, content := range files {
			path := filepath.Join(staged.SitePackages(), name)
			mode := fs.FileMode(0o644)
			if strings.HasSuffix(name, "tool") {
				mode = 0o755
			}
			if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(content), mode)); err != nil {
				return err
			}
		}
	}
	return nil
}

// dist is the distribution of a feature, which is its module, too.
func dist(feature string) string { return strings.ReplaceAll(feature, ".", "_") }

func specs(feature string) []string { return []string{dist(feature) + "==1.0"} }

// describeStaged is the manifest of what is staged.
func describeStaged(staged Staged, abi string, features ...string) (manifest.Manifest, error) {
	m := manifest.Manifest{Version: manifest.Version, ABI: abi}
	features = slices.Sorted(slices.Values(features))
	for _, f := range features {
		m.Features = append(m.Features, manifest.Feature{Name: f, Specs: specs(f), Kind: lock.Shipped, Distributions: []string{dist(f)}})
		m.Distributions = append(m.Distributions, manifest.Distribution{Name: dist(f), Version: "1.0", Modules: []string{dist(f)}})
	}
	err := filepath.WalkDir(staged.SitePackages(), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		content, err := os.ReadFile(path)
		sum := sha256.Sum256(content)
		m.Files = append(m.Files, manifest.File{Path: below(staged.SitePackages(), path), Size: info.Size(),
			SHA256: hex.EncodeToString(sum[:]), Exec: info.Mode()&0o111 != 0})
		return err
	})
	slices.SortFunc(m.Files, func(a, b manifest.File) int { return strings.Compare(a.Path, b.Path) })
	return m, err
}

// whole says why the current generation is not a whole one of these features.
func whole(s *Store, features ...string) error {
	g, err := s.Current()
	if err != nil {
		return err
	}
	problems, err := s.Verify(context.Background(), g)
	if err != nil || len(problems) > 0 {
		return fmt.Errorf("%v %v", problems, err)
	}
	m, err := g.Manifest()
	if err != nil || !slices.Equal(m.Names(), features) {
		return fmt.Errorf("it has %v, not %v: %v", m.Names(), features, err)
	}
	for _, f := range features {
		if !s.Has(f, specs(f)) {
			return fmt.Errorf("%s is not there", f)
		}
	}
	return nil
}

// allWhole says which generation in its place is not whole, whether or not it is the current one.
func allWhole(s *Store) error {
	all, err := s.all()
	if err != nil {
		return err
	}
	for _, g := range all {
		// Its own mode is the last thing that is set, and without that it is only not used again.
		problems, err := s.Verify(context.Background(), g)
		problems = slices.DeleteFunc(problems, func(p Problem) bool { return p.Path == "." })
		if err != nil || len(problems) > 0 {
			return fmt.Errorf("in its place: %v %v", problems, err)
		}
	}
	return nil
}

// nothingLeft says what a writer left in a store that is not complete.
func nothingLeft(s *Store) error {
	staged, err := os.ReadDir(s.staging())
	if err != nil || len(staged) > 0 {
		return fmt.Errorf("staged is still %v %v", staged, err)
	}
	return filepath.WalkDir(s.target, func(path string, _ fs.DirEntry, err error) error {
		if strings.HasSuffix(path, ".staged") {
			return fmt.Errorf("%s is still there", path)
		}
		return err
	})
}

// tree is all that is in a directory, with modes, times and contents.
func tree(t testing.TB, dir string) map[string]string {
	t.Helper()
	all := make(map[string]string)
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		entry := fmt.Sprint(info.Mode(), info.ModTime())
		switch {
		case info.Mode().IsRegular():
			content, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			entry += string(content)
		case info.Mode()&fs.ModeSymlink != 0:
			to, err := os.Readlink(path)
			if err != nil {
				return err
			}
			entry += to
		}
		all[below(dir, path)] = entry
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}
