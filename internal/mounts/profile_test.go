//go:build unix

package mounts

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

func TestCredentialFiles(t *testing.T) {
	w := newWorld(t)
	w.write("token.json", "")
	w.write("deep/down/key", "")
	outside := w.write(w.user+"/.ssh/id", "")
	w.link(outside, "escape")
	w.link("../.ssh/id", "climb")
	w.link("..", "up")
	w.link("token.json", "alias")
	w.link(filepath.Join(w.home, "deep"), "inside")
	w.link("loop", "loop")
	if err := syscall.Mkfifo(filepath.Join(w.home, "pipe"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct{ mount, warning string }{
		"token.json":               {mount: "$HOME/token.json:/root/.hermes/token.json:ro"},
		"./deep//down/../down/key": {mount: "$HOME/deep/down/key:/root/.hermes/deep/down/key:ro"},
		"alias":                    {mount: "$HOME/token.json:/root/.hermes/alias:ro"},
		"inside/down/key":          {mount: "$HOME/deep/down/key:/root/.hermes/inside/down/key:ro"},
		outside:                    {warning: "not the name of a file inside"},
		w.home + "/token.json":     {warning: "not the name of a file inside"},
		"../.ssh/id":               {warning: "not the name of a file inside"},
		"../.hermes/token.json":    {warning: "not the name of a file inside"},
		"deep/../../.ssh/id":       {warning: "not the name of a file inside"},
		"escape":                   {warning: "leads out of the home"},
		"climb":                    {warning: "leads out of the home"},
		"up/.ssh/id":               {warning: "leads out of the home"},
		"up/.hermes/token.json":    {mount: "$HOME/token.json:/root/.hermes/up/.hermes/token.json:ro"},
		"loop":                     {warning: "too many links"},
		"absent":                   {warning: "it does not exist"},
		"deep":                     {warning: "not a regular file"},
		".":                        {warning: "not a regular file"},
		"pipe":                     {warning: "not a regular file"},
	} {
		t.Run(name, func(t *testing.T) {
			w.t = t
			w.write("config.yaml", "terminal:\n  credential_files: ['"+name+"']\n")
			if test.mount != "" {
				w.expects([]string{test.mount}, nil)
			} else {
				w.expects(nil, []string{test.warning})
			}
		})
	}
	w.t = t
	w.write("config.yaml", "terminal:\n  credential_files: [token.json, ./token.json, absent]\n")
	w.expects([]string{"$HOME/token.json:/root/.hermes/token.json:ro"}, []string{"absent"})
	// It may change its kind from one start to the next.
	os.Remove(filepath.Join(w.home, "token.json"))
	w.write("token.json/file", "")
	w.expects(nil, []string{"not a regular file", "not a regular file", "absent"})
}

func TestD25WhatIsLeftOutIsSaid(t *testing.T) {
	w := newWorld(t)
	w.write("skills", "")
	w.write("cache/images", "")
	w.write("cache/audio/file", "")
	w.write("more/skill", "")
	w.write("config.yaml", "skills:\n  external_dirs: [skills, absent, more, more/../more, ~/.hermes/more]\n")
	w.expects([]string{"$HOME/more:/root/.hermes/external_skills/0:ro", "$HOME/cache/audio:/root/.hermes/cache/audio:ro"},
		[]string{"/skills: it is not a directory", "skills: it is not a directory", "absent: it does not exist", `"images": it is not a directory`})
}

func TestAVolumeWinsOverTheProfile(t *testing.T) {
	w := newWorld(t)
	w.write("skills/a", "")
	w.set("TERMINAL_DOCKER_VOLUMES", []string{w.cwd + ":/root/.hermes/skills"})
	w.expects([]string{w.cwd + ":/root/.hermes/skills"}, nil)
}

// skillsCopy returns where the skills are mounted from, which must not be where
// they are.
func (w *world) skillsCopy() string {
	w.t.Helper()
	list, warnings := w.configured()
	if len(list) != 1 || len(warnings) != 0 {
		w.t.Fatalf("mounts %q, warnings %q", list, warnings)
	}
	source, ok := strings.CutSuffix(list[0], ":/root/.hermes/skills:ro")
	source = strings.Replace(source, "$HOME", w.home, 1)
	if !ok || source == filepath.Join(w.home, "skills") {
		w.t.Fatalf("the mount is %q", list[0])
	}
	return source
}

// has compares a tree with the contents of its files.
func (w *world) has(dir string, want map[string]string) {
	w.t.Helper()
	found := make(map[string]string)
	err := filepath.WalkDir(dir, func(path string, e os.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		found[strings.TrimPrefix(path, dir+"/")] = string(data)
		if !e.Type().IsRegular() {
			w.t.Errorf("%s is not a regular file", path)
		}
		return err
	})
	if err != nil {
		w.t.Error(err)
	}
	for name, content := range want {
		if found[name] != content {
			w.t.Errorf("%s is %q, want %q", name, found[name], content)
		}
		delete(found, name)
	}
	if len(found) > 0 {
		w.t.Errorf("there is also %v", found)
	}
}

func TestSkillsWithLinksAreShownAsACopyWithoutThem(t *testing.T) {
	w := newWorld(t)
	secret := w.write(w.user+"/.ssh/id", "secret")
	script := w.write("skills/a/run.sh", "run")
	if err := os.Chmod(script, 0o750); err != nil {
		t.Fatal(err)
	}
	w.write("skills/a/SKILL.md", "one")
	w.write("skills/b/deep/file", "two")
	w.link(secret, "skills/a/file")
	w.link(w.user, "skills/dir")
	w.link("a", "skills/inner")
	if err := syscall.Mkfifo(filepath.Join(w.home, "skills", "pipe"), 0o600); err != nil {
		t.Fatal(err)
	}
	copied := w.skillsCopy()
	w.has(copied, map[string]string{"a/run.sh": "run", "a/SKILL.md": "one", "b/deep/file": "two"})
	if info, err := os.Stat(copied + "/a/run.sh"); err != nil || info.Mode().Perm() != 0o750 {
		t.Errorf("a program is not one any more: %v %v", info.Mode(), err)
	}
	kept, err := os.Open(copied + "/a/SKILL.md")
	if err != nil {
		t.Fatal(err)
	}
	defer kept.Close()
	unchanged, _ := kept.Stat()

	// What changes shows in the same place, so that running sandboxes see it.
	w.write("skills/b/deep/file", "changed")
	w.write("skills/c/new", "new")
	os.Remove(script)
	if err := os.Mkdir(script, 0o700); err != nil {
		t.Fatal(err)
	}
	if again := w.skillsCopy(); again != copied {
		t.Errorf("the copy moved from %s to %s", copied, again)
	}
	w.has(copied, map[string]string{"a/SKILL.md": "one", "b/deep/file": "changed", "c/new": "new"})
	if now, err := os.Stat(copied + "/a/SKILL.md"); err != nil || !os.SameFile(now, unchanged) {
		t.Errorf("a file that did not change was copied again: %v", err)
	}

	// Kinds change, and the last link goes; sandboxes still have the copy mounted.
	os.RemoveAll(filepath.Join(w.home, "skills"))
	w.write("skills/b", "now a file")
	if again := w.skillsCopy(); again != copied {
		t.Errorf("the copy moved from %s to %s", copied, again)
	}
	w.has(copied, map[string]string{"b": "now a file"})

	if err := Forget(w.host().config); err != nil {
		t.Error(err)
	}
	w.expects([]string{"$HOME/skills:/root/.hermes/skills:ro"}, nil)
	if _, err := os.Lstat(filepath.Join(w.home, "sandboxes")); err == nil {
		t.Error("something of the copies is left")
	}
}

func TestAChangeOfTheSameSizeIsCopied(t *testing.T) {
	w := newWorld(t)
	file := w.write("skills/a", "one")
	w.link("a", "skills/link")
	copied := w.skillsCopy()
	w.write("skills/a", "two")
	if err := os.Chtimes(file, time.Now(), time.Now().Add(time.Second)); err != nil {
		t.Fatal(err)
	}
	w.skillsCopy()
	w.has(copied, map[string]string{"a": "two"})
}

// Copies are removed and made anew with the caller's rights: whoever could put a link
// in their place could have anything removed.
func TestNobodyCanReachTheCopies(t *testing.T) {
	w := newWorld(t)
	w.write("skills/a", "one")
	w.link("a", "skills/link")
	copied := w.skillsCopy()
	for dir := copied; dir != w.user; dir = filepath.Dir(dir) {
		w.set("TERMINAL_DOCKER_VOLUMES", []string{dir + ":/x"})
		if list, warnings := w.configured(); len(list) != 1 || len(warnings) != 1 {
			t.Errorf("%s can be mounted writable: %q", dir, list)
		}
	}
}

func TestACopyNobodyAsksForIsRemoved(t *testing.T) {
	w := newWorld(t)
	w.write("skills/a", "one")
	w.link("a", "skills/link")
	copied := w.skillsCopy()
	os.RemoveAll(filepath.Join(w.home, "skills"))
	w.expects(nil, nil)
	if _, err := os.Lstat(copied); err == nil {
		t.Error("it is still there")
	}
}

// Somebody who can write skills may make a copy of them fail, but neither stop a
// start nor pass in silence.
func TestSkillsThatCannotBeCopiedAreSaid(t *testing.T) {
	w := newWorld(t)
	w.write("skills/a", "one")
	w.link("a", "skills/link")
	w.write("sandboxes/skills", "in the way")
	w.expects(nil, []string{"cannot copy the skills"})
}
