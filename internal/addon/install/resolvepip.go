package install

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"strings"
	"time"

	"hermes.example/hermes/internal/addon/lock"
	"hermes.example/hermes/internal/addon/pep508"
)

// report is as much of pip's report of an installation as is needed.
type report struct {
	Install []struct {
		Metadata struct{ Name, Version string }
		Download struct {
			Archive struct {
				Hash   string // "sha256=…", of older ones
				Hashes map[string]string
			} `json:"archive_info"`
		} `json:"download_info"`
	}
}

func (s *session) pipResolver(p pip) resolver {
	return func(ctx context.Context, w Wish, before time.Time) ([]lock.Package, error) {
		if w.Platform != "" {
			return nil, failed("", "cannot resolve for %s: only uv can for another platform", w.Platform)
		}
		if err := w.write(s); err != nil {
			return nil, err
		}
		out := s.path("report.json")
		args := []string{"install", "--dry-run", "--ignore-installed", "--report", out, "--only-binary", ":all:",
			"--constraint", s.path("core.txt")}
		if s.Offline {
			args = append(args, "--no-index", "--find-links", s.wheels())
		}
		if !before.IsZero() {
			args = append(args, "--uploaded-prior-to", before.UTC().Format(time.RFC3339))
		}
		err := s.runPip(ctx, p, s.timeout(), nil, append(args, "--requirement", s.path("wish.in"))...)
		var exit *exited
		if errors.As(err, &exit) && strings.Contains(exit.words(), "no such option: --uploaded-prior-to") {
			return nil, failed("give the runtime uv, or set "+MinAgeVariable+"=0",
				"cannot resolve %s with releases that are at least %s old, which is the policy: this pip is too old for it", w.Feature, days(s.minAge()))
		}
		if err != nil {
			return nil, err
		}
		data, err := os.ReadFile(out)
		if err != nil {
			return nil, failed("", "cannot read what pip resolved: %w", err)
		}
		var found report
		if err := json.Unmarshal(data, &found); err != nil {
			return nil, failed("", "cannot understand what pip resolved: %v", err)
		}
		return found.packages()
	}
}

func (r report) packages() ([]lock.Package, error) {
	var all []lock.Package
	for _, f := range r.Install {
		archive := f.Download.Archive
		hash := archive.Hashes["sha256"]
		if old, ok := strings.CutPrefix(archive.Hash, "sha256="); ok && hash == "" {
			hash = old
		}
		q := lock.Package{Name: pep508.Normalize(f.Metadata.Name), Version: f.Metadata.Version, Hashes: []string{"sha256:" + hash}}
		if hash == "" {
			return nil, failed("", "cannot lock %s: the index gives no hash of it", q)
		}
		all = append(all, q)
	}
	return all, nil
}
