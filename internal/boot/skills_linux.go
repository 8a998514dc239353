package boot

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"hermes.example/hermes/internal/rooted"
)

// skillList names the skills that a home was ever given, a line each: what its owner removed stays away, and what
// he changed stays changed.
const skillList = "skills/.bundled_manifest"

// skills gives the home the image's skills that it never had.
func skills(_ context.Context, b *boot) error {
	bundle := os.DirFS(b.path(path.Join(b.Install, "skills")))
	found, err := bundledSkills(bundle)
	if len(found) == 0 || err != nil {
		return err
	}
	list, err := b.home.read(skillList)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	had := given(string(list))
	var added []string
	for _, dir := range found {
		if slices.Contains(had, path.Base(dir)) {
			continue
		}
		if err = b.home.copySkill(bundle, dir); err != nil {
			break
		}
		added = append(added, path.Base(dir)+"\n")
	}
	if len(added) == 0 {
		return err
	}
	text := string(list)
	if text != "" && !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	return errors.Join(err, b.home.write(skillList, []byte(text+strings.Join(added, "")), 0o644))
}

// bundledSkills are the directories of a bundle that hold a skill.
func bundledSkills(bundle fs.FS) (dirs []string, err error) {
	err = fs.WalkDir(bundle, ".", func(file string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil && file == "." && errors.Is(err, fs.ErrNotExist):
			return fs.SkipAll
		case err != nil:
			return err
		case entry.Type().IsRegular() && path.Base(file) == "SKILL.md" && path.Dir(file) != ".":
			dirs = append(dirs, path.Dir(file))
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("cannot look for skills in the image: %w", err)
	}
	return dirs, nil
}

// given reads the list. A line of the agent's own has a digest after the name.
func given(list string) (names []string) {
	for line := range strings.Lines(list) {
		name, _, _ := strings.Cut(strings.TrimSpace(line), ":")
		names = append(names, name)
	}
	return names
}

// copySkill copies a skill to where nothing is yet, whole or not at all.
func (v *volume) copySkill(bundle fs.FS, dir string) error {
	target := path.Join("skills", dir)
	if absent, err := v.absent("write", target); !absent {
		return err
	}
	above, base := rooted.Split(target)
	if err := v.mkdir(above); err != nil {
		return err
	}
	source, err := fs.Sub(bundle, dir)
	if err != nil {
		return err
	}
	return v.hand.Do(func() error {
		fd, err := v.root.OpenDir(above, unix.O_NOFOLLOW)
		if err != nil {
			return v.failed("write", target, err)
		}
		defer unix.Close(fd)
		staged := rooted.PathOf(fd) + "/." + base + ".new"
		err = os.RemoveAll(staged)
		if err == nil {
			err = os.CopyFS(staged, source)
		}
		if err == nil {
			err = os.Rename(staged, rooted.PathOf(fd)+"/"+base)
		}
		if err != nil {
			os.RemoveAll(staged)
			return v.failed("write", target, err)
		}
		return nil
	})
}
