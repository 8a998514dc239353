package bench

import (
	"archive/zip"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"hermes.example/hermes/internal/addon"
	"hermes.example/hermes/internal/addon/feature"
	"hermes.example/hermes/internal/addon/lock"
	"hermes.example/hermes/internal/addon/sealed"
	"hermes.example/hermes/internal/addon/store"
	"hermes.example/hermes/internal/config"
)

const (
	hasBudget    = 50 // microseconds
	ensureBudget = 1.5
	startBudget  = 1.1
)

// What is installed: a feature of a usual size, and as many small ones as a busy agent has.
const (
	packages, modules = 20, 25
	smallFeatures     = 60
)

// addons measures the store of add-ons on the sealed runtime of this machine, with wheels that are made here.
func (r *runner) addons() error {
	dir := filepath.Join(r.home, "addons")
	runtime, err := sealed.Find(r.ctx, os.LookupEnv, "")
	if err == nil && runtime.UV() == "" {
		err = errors.New("the runtime has no uv")
	}
	if err != nil {
		r.progress("no add-ons: " + err.Error())
		return nil
	}
	s := &shelf{dir: dir, runtime: runtime}
	if err := s.fill(); err != nil {
		return err
	}
	m := addon.New(s.options("home"))
	if err := r.ensures(m, s); err != nil {
		return err
	}
	if err := r.asksForIt(m); err != nil {
		return err
	}
	if err := r.imports(m, s); err != nil {
		return err
	}
	return r.startsWithMany(s)
}

// asksForIt measures the question that every use of a backend begins with.
func (r *runner) asksForIt(m *addon.Manager) error {
	const times = 1000
	var took []float64
	for range r.Rounds {
		ms, err := timed(func() error {
			for range times {
				if !m.Has(r.ctx, "large.one") {
					return errors.New("it is not there")
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
		took = append(took, ms*1000/times)
	}
	r.report.figure("add-ons: is a feature there?", "µs", median(took), hasBudget, false, "no interpreter is started")
	return nil
}

// ensures measures an install of what is locked and cached, beside a bare uv.
func (r *runner) ensures(m *addon.Manager, s *shelf) error {
	if _, err := m.Ensure(r.ctx, "large.one"); err != nil {
		return err
	}
	var ours, bare []float64
	for i := range max(r.Rounds/3, 3) {
		if err := m.Remove(r.ctx, "large.one"); err != nil {
			return err
		}
		// The generation goes, and what the installer has cached stays.
		if err := s.write(r.ctx, "home", func(w *store.Writer) error { _, err := w.GC(r.ctx, store.Collect{}); return err }); err != nil {
			return err
		}
		unix.Sync() // neither pays for what the other left to be written
		ms, err := timed(func() error { _, err := m.Ensure(r.ctx, "large.one"); return err })
		if err != nil {
			return err
		}
		ours = append(ours, ms)
		into := filepath.Join(s.dir, fmt.Sprint("bare-", i))
		unix.Sync()
		ms, err = timed(func() error { return s.bare(r.ctx, into) })
		if err != nil {
			return err
		}
		bare = append(bare, ms)
		if err := os.RemoveAll(into); err != nil {
			return err
		}
	}
	r.report.compare(fmt.Sprintf("add-ons: ensure of a locked, cached feature, %d packages, %d files", packages, packages*modules),
		"`uv pip install --target`", median(ours), median(bare), ensureBudget, "uv compares no file with its wheel, and makes nothing survive a crash")
	return nil
}

// imports measures what bytecode is worth: all modules of the feature in a new interpreter, with it and without.
func (r *runner) imports(m *addon.Manager, s *shelf) error {
	if _, err := addon.New(s.options("plain")).Ensure(r.ctx, "large.one"); err != nil {
		return err
	}
	compiling, err := timed(func() error { return m.Compile(r.ctx) })
	if err != nil {
		return err
	}
	from := func(store string) func() error {
		return func() error {
			cmd := exec.CommandContext(r.ctx, s.runtime.Python(), "-c", "import "+imported(packages))
			cmd.Env = []string{config.LazyInstallTarget + "=" + s.store(store)}
			if out, err := cmd.CombinedOutput(); err != nil {
				return fmt.Errorf("import: %w: %s", err, out)
			}
			return nil
		}
	}
	took, err := r.interleave(max(r.Rounds/3, 3), from("home"), from("plain"))
	if err != nil {
		return err
	}
	r.report.compare(fmt.Sprintf("add-ons: import of all %d modules of that feature", packages*(modules-1)), "not compiled", took[0], took[1], 0,
		fmt.Sprintf("compiled once, after the install, in %.0f ms", compiling))
	return nil
}

// startsWithMany measures the interpreter with a store full of features.
func (r *runner) startsWithMany(s *shelf) error {
	m := addon.New(s.options("many"))
	if err := s.write(r.ctx, "many", func(w *store.Writer) error { return w.SetDesired(s.small()) }); err != nil {
		return err
	}
	if leftOut, err := m.Rebuild(r.ctx); err != nil || len(leftOut) > 0 {
		return fmt.Errorf("%v: %w", leftOut, err)
	}
	with, without := []string{config.LazyInstallTarget + "=" + s.store("many")}, []string{config.LazyInstallTarget + "=" + s.store("none")}
	took, err := s.runtime.Starts(r.ctx, max(r.Rounds, 20), with, without)
	if err != nil {
		return err
	}
	r.report.compare(fmt.Sprintf("add-ons: start of the sealed interpreter, %d features in the store", smallFeatures), "without any",
		took[0].Seconds()*1000, took[1].Seconds()*1000, startBudget, "")
	return nil
}

// shelf is a directory of wheels, and of locks for them.
type shelf struct {
	dir     string
	runtime *sealed.Runtime
	list    []feature.Feature
	large   []lock.Package
}

func (s *shelf) store(name string) string { return filepath.Join(s.dir, name) }

// write changes a store itself, below its manager.
func (s *shelf) write(ctx context.Context, name string, change func(*store.Writer) error) error {
	opened, err := store.Open(s.store(name), s.runtime.ABI, s.runtime.Tag, store.Options{})
	if err != nil {
		return err
	}
	w, err := opened.Write(ctx)
	if err != nil {
		return err
	}
	defer w.Close()
	return change(w)
}

func (s *shelf) small() (names []string) {
	for _, f := range s.list[1:] {
		names = append(names, f.Name)
	}
	return names
}

func (s *shelf) environ() []string {
	return []string{"UV_FIND_LINKS=" + filepath.Join(s.dir, "wheels"), "UV_NO_INDEX=1", "PATH=/usr/bin:/bin", "HOME=" + s.dir}
}

func (s *shelf) options(name string) addon.Options {
	lookup := func(variable string) (string, bool) {
		switch variable {
		case config.LazyInstallTarget:
			return s.store(name), true
		case sealed.Variable:
			return s.runtime.Root, true
		case "HERMES_HOME":
			return s.dir, true
		}
		return "", false
	}
	return addon.Options{Lookup: lookup, Environ: s.environ(), Features: s.list, Locks: filepath.Join(s.dir, "locks")}
}

// bare is what a person would type.
func (s *shelf) bare(ctx context.Context, into string) error {
	cmd := exec.CommandContext(ctx, s.runtime.UV(), "pip", "install", "--quiet", "--offline", "--no-config", "--python", s.runtime.Python(), "--target", into,
		"--no-deps", "--require-hashes", "--only-binary", ":all:", "--no-index", "--find-links", filepath.Join(s.dir, "wheels"), "--requirements", filepath.Join(s.dir, "large.txt"))
	cmd.Env = append(s.environ(), "UV_CACHE_DIR="+filepath.Join(s.dir, "bare-cache"))
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("uv: %w: %s", err, out)
	}
	return nil
}

// fill writes wheels and locks.
func (s *shelf) fill() error {
	if err := os.MkdirAll(filepath.Join(s.dir, "wheels"), 0o755); err != nil {
		return err
	}
	large := feature.Feature{Name: "large.one", Ecosystem: "python", Probes: []string{"large_0"}}
	for i := range packages {
		pkg, err := s.wheel(fmt.Sprintf("large_%d", i), modules)
		if err != nil {
			return err
		}
		s.large = append(s.large, pkg)
		large.Specs = append(large.Specs, pkg.Name+"==1.0")
	}
	s.list = append(s.list, large)
	if err := s.lock(large, s.large); err != nil {
		return err
	}
	for i := range smallFeatures {
		pkg, err := s.wheel(fmt.Sprintf("small_%d", i), 5)
		if err != nil {
			return err
		}
		f := feature.Feature{Name: fmt.Sprintf("small.n%d", i), Ecosystem: "python", Specs: []string{pkg.Name + "==1.0"}, Probes: []string{fmt.Sprintf("small_%d", i)}}
		s.list = append(s.list, f)
		if err := s.lock(f, []lock.Package{pkg}); err != nil {
			return err
		}
	}
	return os.WriteFile(filepath.Join(s.dir, "large.txt"), lock.Requirements(s.large), 0o644)
}

func (s *shelf) lock(f feature.Feature, all []lock.Package) error {
	sorted, err := lock.Union(lock.Lock{Feature: f.Name, Packages: all})
	if err != nil {
		return err
	}
	l := lock.Lock{Feature: f.Name, Tag: s.runtime.Tag, Kind: lock.Shipped, Specs: lock.Digest(f.Specs), Packages: sorted}
	path := lock.Path(filepath.Join(s.dir, "locks"), l.Tag, l.Feature)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, l.Format(), 0o644)
}

// wheel writes one, of as many modules of some kilobytes.
func (s *shelf) wheel(module string, modules int) (lock.Package, error) {
	files := map[string]string{module + "/__init__.py": ""}
	for i := range modules - 1 {
		files[fmt.Sprintf("%s/m%d.py", module, i)] = strings.Repeat(fmt.Sprintf("def f%d(x):\n    return x + %d\n\n\n", i, i), 100)
	}
	return s.wheelOf(module, files)
}

// wheelOf writes one of these files.
func (s *shelf) wheelOf(module string, files map[string]string) (lock.Package, error) {
	var archive, record bytes.Buffer
	w := zip.NewWriter(&archive)
	info := module + "-1.0.dist-info/"
	files[info+"METADATA"] = "Metadata-Version: 2.1\nName: " + module + "\nVersion: 1.0\n"
	files[info+"WHEEL"] = "Wheel-Version: 1.0\nGenerator: hermes\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
	var err error
	for _, name := range slices.Sorted(maps.Keys(files)) {
		content := files[name]
		f, made := w.Create(name)
		if made == nil {
			_, made = f.Write([]byte(content))
		}
		err = errors.Join(err, made)
		sum := sha256.Sum256([]byte(content))
		fmt.Fprintf(&record, "%s,sha256=%s,%d\n", name, base64.RawURLEncoding.EncodeToString(sum[:]), len(content))
	}
	fmt.Fprintf(&record, "%sRECORD,,\n", info)
	f, made := w.Create(info + "RECORD")
	if made == nil {
		_, made = f.Write(record.Bytes())
	}
	if err := errors.Join(err, made, w.Close()); err != nil {
		return lock.Package{}, err
	}
	sum := sha256.Sum256(archive.Bytes())
	pkg := lock.Package{Name: strings.ReplaceAll(module, "_", "-"), Version: "1.0", Hashes: []string{"sha256:" + hex.EncodeToString(sum[:])}, Size: int64(archive.Len())}
	return pkg, os.WriteFile(filepath.Join(s.dir, "wheels", module+"-1.0-py3-none-any.whl"), archive.Bytes(), 0o644)
}
