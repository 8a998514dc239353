// Package version knows which build this is. The Makefile stamps the three variables through the linker;
// a plain "go build" or "go install" falls back to what the Go toolchain recorded. Nobody else sets them.
package version

import (
	"fmt"
	"runtime"
	"runtime/debug"
)

// Stamped by the Makefile; empty in a plain "go build".
var (
	Version string
	Commit  string
	Date    string
)

// Info is one build: what "hermes version" prints and what the wire's hello carries.
type Info struct {
	Version  string `json:"version"`
	Commit   string `json:"commit"`
	Date     string `json:"date"` // of the commit, RFC 3339 in UTC
	Go       string `json:"go"`
	Platform string `json:"platform"`
}

// Current tells about the running program.
func Current() Info {
	build, _ := debug.ReadBuildInfo()
	return resolve(Info{Version: Version, Commit: Commit, Date: Date}, build)
}

// String is one line without a newline.
func (i Info) String() string {
	return fmt.Sprintf("hermes %s (commit %s, %s, %s, %s)", i.Version, i.Commit, i.Date, i.Go, i.Platform)
}

func resolve(i Info, build *debug.BuildInfo) Info {
	i.Go = runtime.Version()
	i.Platform = runtime.GOOS + "/" + runtime.GOARCH
	if build != nil {
		fill(&i, build)
	}
	orElse(&i.Version, "dev")
	orElse(&i.Commit, "unknown")
	orElse(&i.Date, "date unknown")
	return i
}

// fill takes from the toolchain's record what was not stamped. "(devel)" is its word for "no version".
func fill(i *Info, build *debug.BuildInfo) {
	if build.Main.Version != "(devel)" {
		orElse(&i.Version, build.Main.Version)
	}
	var revision, dirty string
	for _, s := range build.Settings {
		switch s.Key {
		case "vcs.revision":
			revision = s.Value[:min(12, len(s.Value))]
		case "vcs.modified":
			if s.Value == "true" {
				dirty = "-dirty"
			}
		case "vcs.time":
			orElse(&i.Date, s.Value)
		}
	}
	if revision != "" {
		orElse(&i.Commit, revision+dirty)
	}
}

func orElse(s *string, value string) {
	if *s == "" {
		*s = value
	}
}
