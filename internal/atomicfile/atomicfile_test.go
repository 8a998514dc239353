package atomicfile

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

func TestReadOnlyReadsFiles(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "state.json")
	if err := Write(path, []byte("content"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got, err := Read(path); err != nil || string(got) != "content" {
		t.Errorf("%q %v", got, err)
	}
	if _, err := Read(filepath.Join(dir, "absent")); !os.IsNotExist(err) {
		t.Error(err)
	}
	if _, err := Read(dir); err == nil {
		t.Error("read a directory")
	}
	pipe := filepath.Join(dir, "pipe")
	if out, err := exec.Command("mkfifo", pipe).CombinedOutput(); err != nil {
		t.Skipf("cannot make a pipe: %v %s", err, out)
	}
	if _, err := Read(pipe); err == nil {
		t.Error("read a pipe")
	}
}

func TestWriteReplacesWholeFiles(t *testing.T) {
	path := filepath.Join(t.TempDir(), "state.json")
	for _, content := range []string{"one", "", "three, and longer"} {
		if err := Write(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(path)
		if err != nil || string(got) != content {
			t.Errorf("got %q, %v", got, err)
		}
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
}

func TestAFailedWriteLeavesTheOldFileAndNothingElse(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "state.json")
	if err := os.Mkdir(path, 0o700); err != nil { // a rename onto a directory fails
		t.Fatal(err)
	}
	if err := Write(path, []byte("x"), 0o600); err == nil {
		t.Fatal("no error")
	}
	entries, _ := os.ReadDir(dir)
	if len(entries) != 1 {
		t.Errorf("left behind: %v", entries)
	}
}

func TestWhatIsPreparedIsThereWhenItIsCommitted(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "file")
	if err := Write(path, []byte("old"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, content := range []string{"never committed", "new"} {
		if err := Prepare(path, []byte(content), 0o640); err != nil {
			t.Fatal(err)
		}
		if data, err := Read(path); err != nil || string(data) != "old" {
			t.Errorf("before, it is %q, %v", data, err)
		}
	}
	if err := Commit(path); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(path)
	if data, _ := Read(path); err != nil || string(data) != "new" || info.Mode().Perm() != 0o640 {
		t.Errorf("after, it is %q, %v, %v", data, info, err)
	}
	if entries, _ := os.ReadDir(dir); len(entries) != 1 {
		t.Errorf("there are %v", entries)
	}
	if err := Commit(path); err == nil {
		t.Error("it was committed twice")
	}
}

func TestWhatACrashLeftIsGoneWithTheNextWrite(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "file")
	staged := filepath.Join(dir, ".file.staged")
	elsewhere := filepath.Join(t.TempDir(), "elsewhere")
	for _, leave := range []func() error{
		func() error { return os.WriteFile(staged, []byte("half"), 0o644) },
		func() error { return os.Symlink(elsewhere, staged) },
	} {
		if err := leave(); err != nil {
			t.Fatal(err)
		}
		if err := WriteAlone(path, []byte("whole"), 0o640); err != nil {
			t.Fatal(err)
		}
		entries, err := os.ReadDir(dir)
		if err != nil || len(entries) != 1 || entries[0].Name() != "file" {
			t.Errorf("there are %v, %v", entries, err)
		}
		if data, err := Read(path); err != nil || string(data) != "whole" {
			t.Errorf("it is %q, %v", data, err)
		}
	}
	if _, err := os.Lstat(elsewhere); !os.IsNotExist(err) {
		t.Errorf("it was written through a link: %v", err)
	}
}

func TestSweepTakesAwayOnlyWhatACrashLeft(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "file")
	if err := Sweep(path); err != nil {
		t.Error(err)
	}
	for _, name := range []string{"file", ".file.staged", ".other.staged"} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := Sweep(path); err != nil {
		t.Error(err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 2 || entries[0].Name() != ".other.staged" || entries[1].Name() != "file" {
		t.Errorf("there are %v, %v", entries, err)
	}
}
