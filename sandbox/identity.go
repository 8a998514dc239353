package sandbox

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
)

// Identity says whose sandbox it is. Equal identities mean the same sandbox, in
// any process.
type Identity struct {
	// Home is the data directory that the sandbox belongs to.
	Home string `json:"home"`
	// Profile is the agent identity within the home; empty means "default".
	Profile string `json:"profile"`
	// Task is the caller's key; empty means "default".
	Task string `json:"task"`
	// Instance tells sandboxes of one task apart that several processes have for
	// themselves; empty for one that all share. The files of a task are the same.
	Instance string `json:"instance,omitempty"`
}

// Normal fills in what an empty field means.
func (id Identity) Normal() Identity {
	if id.Profile == "" {
		id.Profile = "default"
	}
	if id.Task == "" {
		id.Task = "default"
	}
	if abs, err := filepath.Abs(id.Home); err == nil {
		id.Home = abs
	}
	id.Home = realPath(id.Home)
	return id
}

// realPath resolves the links in the part of a path that exists, so that a home
// has the same name before and after it is made.
func realPath(p string) string {
	real, err := filepath.EvalSymlinks(p)
	if err == nil {
		return real
	}
	parent := filepath.Dir(p)
	if parent == p {
		return p
	}
	return filepath.Join(realPath(parent), filepath.Base(p))
}

// Validate says what is wrong with an identity, in one line.
func (id Identity) Validate() error {
	for _, name := range []string{id.Home, id.Profile, id.Task, id.Instance} {
		if !isText(name) {
			return fmt.Errorf("the name %q is not text", name)
		}
	}
	return nil
}

// Key is a short name for the identity that is unique on the machine.
func (id Identity) Key() string {
	id = id.Normal()
	key := id.Home + "\x00" + id.Profile + "\x00" + id.Task
	if id.Instance != "" {
		key += "\x00" + id.Instance
	}
	return digest(key)
}

// Name is a readable, unique file name for the sandbox within its home: the task
// itself where it is a plain name, otherwise a cleaned form with a digest.
func (id Identity) Name() string {
	id = id.Normal()
	if id.Profile == "default" {
		return cleanName(id.Task, 128)
	}
	// Two names joined could meet another pair, so the digest is always there.
	return clean(id.Profile+"."+id.Task, 115) + "-" + digest(id.Profile+"\x00"+id.Task)
}

// Labels are what marks the sandbox in engines that have labels.
func (id Identity) Labels() map[string]string {
	id = id.Normal()
	return map[string]string{
		"hermes-agent":   "1",
		"hermes-task-id": cleanName(id.Task, 63),
		"hermes-profile": cleanName(id.Profile, 63),
		"hermes-home":    digest(id.Home),
	}
}

func digest(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:6])
}

// digested is what a name with a digest looks like. A name that looks so itself
// gets one too, or it could be that of another.
var digested = regexp.MustCompile(`-[0-9a-f]{12}$`)

// cleanName returns s if it can stand in file names and labels as it is, and
// otherwise a cleaned stem with a digest, so that two different values never
// become one.
func cleanName(s string, limit int) string {
	if s != "" && len(s) <= limit && clean(s, limit) == s && s != "." && s != ".." && !strings.HasSuffix(s, ".") && !digested.MatchString(s) {
		return s
	}
	return clean(s, limit-13) + "-" + digest(s)
}

func clean(s string, limit int) string {
	mapped := strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '.', r == '_', r == '-':
			return r
		}
		return '_'
	}, s)
	return mapped[:min(len(mapped), limit)]
}
