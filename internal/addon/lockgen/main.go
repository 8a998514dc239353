// Command lockgen makes the locks that are sealed with the runtime, and the table of add-ons in the documentation.
//
//	lockgen [-table] [FEATURE…]
//
// It resolves every feature for every platform that the image is built for, against the exact versions of the core.
// With -table it only writes the table anew. `make lock` calls it, from the top of the tree; it uses the network.
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

	"hermes.example/hermes/internal/addon/feature"
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
	tableOnly := flag.Bool("table", false, "write only the table")
	flag.Parse()
	if err := run(ctx, *tableOnly, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context, tableOnly bool, only []string) error {
	if !tableOnly {
		if err := lockAll(ctx, only); err != nil {
			return err
		}
	}
	text, err := table(".")
	if err != nil {
		return err
	}
	return atomicfile.Replace(tableFile, text, 0o644)
}

func lockAll(ctx context.Context, only []string) error {
	core, err := readCore(coreFile)
	if err != nil {
		return err
	}
	root, err := filepath.Abs(runtimeDir)
	if err != nil {
		return err
	}
	cache, err := filepath.Abs(cacheDir)
	if err != nil {
		return err
	}
	i := install.Installer{Runtime: &sealed.Runtime{Root: root}, Cache: cache, Environ: os.Environ(), Measure: measurer()}
	for _, p := range platforms {
		open, err := lock.Unlocked(locksDir, p.tag)
		if err != nil {
			return err
		}
		if open == nil || len(only) == 0 {
			open = make(map[string]string)
		}
		for _, f := range feature.All() {
			if len(only) > 0 && !slices.Contains(only, f.Name) {
				continue
			}
			delete(open, f.Name)
			if err := lockOne(ctx, i, p, f, core); err != nil {
				reason, ok := why(err)
				if !ok {
					return fmt.Errorf("cannot lock %s for %s: %w", f.Name, p.tag, err)
				}
				fmt.Printf("%-28s %-8s no lock: %s\n", f.Name, p.name, reason)
				open[f.Name] = reason
			}
		}
		if err := writeOpen(p.tag, open); err != nil {
			return err
		}
	}
	return nil
}

// lockOne writes the lock of a feature for a platform, or takes away the one that there can no longer be.
func lockOne(ctx context.Context, i install.Installer, p platform, f feature.Feature, core map[string]string) error {
	path := lock.Path(locksDir, p.tag, f.Name)
	i.Runtime = &sealed.Runtime{Root: i.Runtime.Root, Description: sealed.Description{Tag: p.tag}}
	l, err := i.Resolve(ctx, install.Wish{Feature: f.Name, Specs: f.Specs, Core: core, Platform: p.uv})
	if err != nil {
		return errors.Join(err, os.RemoveAll(path))
	}
	l.Kind = lock.Shipped
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	rest, _, err := l.Without(core)
	if err != nil {
		return err
	}
	fmt.Printf("%-28s %-8s %3d packages beside the core's, %s\n", f.Name, p.name, len(rest.Packages), megabytes(lock.Size(rest.Packages)))
	return atomicfile.Replace(path, l.Format(), 0o644)
}

// why is the reason, in one line, if there can be no lock. What only failed today is not one.
func why(err error) (string, bool) {
	var e *unavailable.Error
	if !errors.As(err, &e) {
		return "", false
	}
	return shorten(e.Reason)
}

func writeOpen(tag string, open map[string]string) error {
	var b strings.Builder
	for _, f := range feature.All() {
		if reason, ok := open[f.Name]; ok {
			fmt.Fprintf(&b, "%s: %s\n", f.Name, reason)
		}
	}
	return atomicfile.Replace(filepath.Join(locksDir, tag, lock.Open), []byte(b.String()), 0o644)
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
