package install

import (
	"bytes"
	"context"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync"

	"hermes.example/hermes/internal/addon/npm"
)

// request is how npm names what it keeps of a registry.
const request = "make-fetch-happen:request-cache:"

// pruneNPM has npm remove what it keeps of packages that are not needed, and then what nothing leads to any more.
func (s *session) pruneNPM(ctx context.Context, keep []npm.Spec) error {
	if _, err := os.Stat(s.npmCache()); err != nil {
		return nil
	}
	program, err := s.npm()
	if err != nil {
		return nil // who has no npm any more may get it back
	}
	var said lines
	if err := s.runNPM(ctx, program, &said, "cache", "ls"); err != nil {
		return s.judgeNPM("npm cache ls", err)
	}
	var unneeded []string
	for _, key := range said.all() {
		if goes(key, keep) {
			unneeded = append(unneeded, key)
		}
	}
	for some := range slices.Chunk(unneeded, atOnce) {
		if err := s.runNPM(ctx, program, nil, append([]string{"cache", "clean"}, some...)...); err != nil {
			return s.judgeNPM("npm cache clean", err)
		}
	}
	return s.judgeNPM("npm cache verify", s.runNPM(ctx, program, nil, "cache", "verify"))
}

// atOnce is how many names one command is given.
const atOnce = 500

// lines collects what is written by more than one.
type lines struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

// all is for when nobody writes any more.
func (l *lines) all() []string { return strings.Split(strings.TrimSpace(l.text.String()), "\n") }

// goes says whether what npm keeps under a name is of a package that is not needed. A registry that names its files in
// another way keeps too much, and loses nothing.
func goes(key string, keep []npm.Spec) bool {
	address, isRequest := strings.CutPrefix(key, request)
	u, err := url.Parse(address)
	if !isRequest || err != nil {
		return false
	}
	parts := strings.Split(strings.Trim(u.EscapedPath(), "/"), "/")
	for i, part := range parts {
		if parts[i], err = url.PathUnescape(part); err != nil {
			return false
		}
	}
	if at := slices.Index(parts, "-"); at > 0 && at == len(parts)-2 {
		return goesFile(parts[:at], parts[at+1], keep)
	}
	whole := "/" + strings.Join(parts, "/") + "/"
	return npm.CheckName(parts[len(parts)-1]) == nil && !slices.ContainsFunc(keep, func(s npm.Spec) bool { return strings.Contains(whole, "/"+s.Name+"/") })
}

// goesFile is for the archive of a version: ".../@scope/name/-/name-1.0.0.tgz".
func goesFile(above []string, file string, keep []npm.Spec) bool {
	base := above[len(above)-1]
	name := base
	if len(above) > 1 && strings.HasPrefix(above[len(above)-2], "@") {
		name = above[len(above)-2] + "/" + base
	}
	version, named := strings.CutPrefix(strings.TrimSuffix(file, ".tgz"), base+"-")
	if !named || npm.CheckName(name) != nil || npm.CheckVersion(version) != nil {
		return false
	}
	return !slices.Contains(keep, npm.Spec{Name: name, Version: version})
}
