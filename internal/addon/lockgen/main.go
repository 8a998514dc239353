// Command lockgen makes the locks that are sealed with the runtime, and the table of add-ons in the documentation.
//
//	lockgen [-table | -npm] [-before DAY]
//
// It resolves every feature for every platform that the image is built for, against the exact versions of the core.
// `make lock` calls it, from the top of the tree; it uses the network.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"hermes.example/hermes/internal/addon/install"
	"hermes.example/hermes/internal/addon/lock"
	"hermes.example/hermes/internal/addon/sealed"
	"hermes.example/hermes/internal/addon/unavailable"
	"hermes.example/hermes/internal/atomicfile"
)

// Where things are from the top of the tree.
const (
	runtimeDir = ".cache/runtime"
	locksDir   = "runtime/locks"
	coreFile   = "runtime/core.txt"
	tableFile  = "docs/addons.md"
	cacheDir   = ".cache/lock"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	tableOnly := flag.Bool("table", false, "write only the table, from the locks that there are")
	npmOnly := flag.Bool("npm", false, "resolve only the features of npm")
	before := flag.String("before", "", "leave out what was released after this `day` (YYYY-MM-DD; default: two weeks ago)")
	flag.Parse()
	if err := run(ctx, *tableOnly, *npmOnly, *before); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context, tableOnly, npmOnly bool, before string) error {
	if !tableOnly {
		g, err := newGenerator(before)
		if err != nil {
			return err
		}
		for _, p := range platforms {
			if npmOnly {
				break
			}
			if err := g.lockAll(ctx, p); err != nil {
				return err
			}
		}
		if err := g.lockTrees(ctx); err != nil {
			return err
		}
	}
	text, err := table(".")
	if err != nil {
		return err
	}
	return atomicfile.Replace(tableFile, text, 0o644)
}

// generator makes locks.
type generator struct {
	install.Installer
	core map[string]string
}

func newGenerator(before string) (*generator, error) {
	core, err := readCore(coreFile)
	if err != nil {
		return nil, err
	}
	now := time.Now() // one for all, so that every lock is of the same day
	if before != "" {
		day, err := time.Parse(time.DateOnly, before)
		if err != nil {
			return nil, fmt.Errorf("cannot understand the day: %w", err)
		}
		now = day.Add(install.DefaultMinAge)
	}
	root, err := filepath.Abs(runtimeDir)
	if err != nil {
		return nil, err
	}
	cache, err := filepath.Abs(cacheDir)
	if err != nil {
		return nil, err
	}
	return &generator{core: core, Installer: install.Installer{
		Runtime: &sealed.Runtime{Root: root}, Cache: cache, Environ: os.Environ(), Measure: measurer(),
		Now: func() time.Time { return now },
	}}, nil
}

// lockAll makes the locks of a platform.
func (g *generator) lockAll(ctx context.Context, p platform) error {
	together, err := g.together(ctx, p)
	if err != nil {
		return err
	}
	dir := filepath.Join(locksDir, p.tag)
	if err := os.RemoveAll(dir); err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	var unlocked strings.Builder
	for _, f := range python() {
		l, err := g.resolve(ctx, p, f.Name, f.Specs, together.constraints(f, g.core))
		if err != nil {
			reason, lasting := why(err)
			if !lasting {
				return fmt.Errorf("cannot lock %s for %s: %w", f.Name, p.tag, err)
			}
			fmt.Printf("%-28s %-8s no lock: %s\n", f.Name, p.name, reason)
			fmt.Fprintf(&unlocked, "%s: %s\n", f.Name, reason)
			continue
		}
		rest, _, err := l.Without(g.core)
		if err != nil {
			return err
		}
		fmt.Printf("%-28s %-8s %3d packages beside the core's, %s\n", f.Name, p.name, len(rest.Packages), megabytes(lock.Size(rest.Packages)))
		if err := atomicfile.Replace(lock.Path(locksDir, p.tag, f.Name), l.Format(), 0o644); err != nil {
			return err
		}
	}
	if err := g.lockTools(ctx, p); err != nil {
		return err
	}
	return atomicfile.Replace(filepath.Join(dir, lock.Reasons), []byte(unlocked.String()), 0o644)
}

// resolve takes wheels, and the source of a package only where no version that fits has one.
func (g *generator) resolve(ctx context.Context, p platform, name string, specs []string, versions map[string]string) (lock.Lock, error) {
	var sources []string
	for {
		l, err := g.attempt(ctx, p, name, specs, versions, sources...)
		pkg, only := withoutWheel(err)
		if !only || slices.Contains(sources, pkg) {
			return l, err
		}
		sources = append(sources, pkg)
	}
}

func (g *generator) attempt(ctx context.Context, p platform, name string, specs []string, versions map[string]string, sources ...string) (lock.Lock, error) {
	i := g.Installer
	i.Runtime = &sealed.Runtime{Root: i.Runtime.Root, Description: sealed.Description{Tag: p.tag}}
	l, err := i.Resolve(ctx, install.Wish{Feature: name, Specs: specs, Core: versions, Platform: p.uv, Sources: sources})
	l.Kind = lock.Shipped
	return l, err
}

// tools are what the sources of all features are built with.
var tools = []string{"setuptools", "wheel"}

func (g *generator) lockTools(ctx context.Context, p platform) error {
	l, err := g.resolve(ctx, p, lock.BuildTools, tools, nil)
	if err != nil {
		return fmt.Errorf("cannot lock what sources are built with: %w", err)
	}
	return atomicfile.Replace(lock.Path(locksDir, p.tag, lock.BuildTools), l.Format(), 0o644)
}

// why is the reason if there can be no lock.
func why(err error) (string, bool) {
	var e *unavailable.Error
	if !errors.As(err, &e) {
		return "", false
	}
	return shorten(e)
}

// measurer asks for the sizes of files, each once.
func measurer() func(context.Context, string) int64 {
	var mu sync.Mutex
	known := make(map[string]int64)
	client := &http.Client{Timeout: 30 * time.Second}
	return func(ctx context.Context, url string) int64 {
		mu.Lock()
		defer mu.Unlock()
		if size, ok := known[url]; ok {
			return size
		}
		request, err := http.NewRequestWithContext(ctx, http.MethodHead, url, nil)
		if err != nil {
			return 0
		}
		response, err := client.Do(request)
		if err != nil {
			return 0
		}
		response.Body.Close()
		if response.StatusCode == http.StatusOK {
			known[url] = max(0, response.ContentLength)
		}
		return known[url]
	}
}
