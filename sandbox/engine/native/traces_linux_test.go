package native_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"hermes.example/hermes/internal/cgroup"
	"hermes.example/hermes/sandbox"
)

// traces lists what sandboxes have left: processes, cgroups, what is in the run
// directory, mounts, and directories of the home.
func traces(t testing.TB, run, home string, ids []sandbox.Identity) []string {
	t.Helper()
	found := append(guests(t, run), mounted(t, run, home)...)
	groups, err := cgroup.List()
	if err != nil {
		t.Fatal(err)
	}
	left := make(map[string]bool)
	for _, name := range groups {
		left[name] = true
	}
	for _, id := range ids {
		if left[id.Key()] {
			found = append(found, "cgroup of "+strconv.Quote(id.Task)+" "+id.Key())
		}
		dir := filepath.Join(id.Home, "sandboxes", "native", id.Name())
		if _, err := os.Lstat(dir); err == nil {
			found = append(found, "directory "+dir)
		}
	}
	entries, err := os.ReadDir(run)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	for _, e := range entries {
		if !strings.HasPrefix(e.Name(), "guest-") { // the program, which all share
			found = append(found, "run directory entry "+e.Name())
		}
	}
	return found
}

// guests lists the living guests that were started from a run directory. Only
// root can see that. Of a user that was made for the tests all guests count; of
// any other, who may have guests elsewhere, those that are our children.
func guests(t testing.TB, run string) []string {
	t.Helper()
	entries, err := os.ReadDir("/proc")
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		dir := filepath.Join("/proc", e.Name())
		if os.Getuid() == 0 {
			if exe, err := os.Readlink(filepath.Join(dir, "exe")); err != nil || !strings.HasPrefix(exe, run+"/") {
				continue
			}
		} else {
			comm, err := os.ReadFile(filepath.Join(dir, "comm"))
			if err != nil || !strings.HasPrefix(string(comm), "guest-") && !strings.HasPrefix(string(comm), "hermes-guest") || !ours(dir) {
				continue
			}
		}
		found = append(found, "guest process "+strconv.Itoa(pid))
	}
	return found
}

// ownUserVariable says that the tests have a user of their own.
const ownUserVariable = "HERMES_NATIVE_OWN_USER"

// ours says whether a process can be one of these tests'.
func ours(dir string) bool {
	status, err := os.ReadFile(filepath.Join(dir, "status"))
	if err != nil || strings.Contains(string(status), "State:\tZ") {
		return false
	}
	mark := "\nPPid:\t" + strconv.Itoa(os.Getpid()) + "\n"
	if os.Getenv(ownUserVariable) != "" {
		mark = "\nUid:\t" + strconv.Itoa(os.Getuid()) + "\t"
	}
	return strings.Contains(string(status), mark)
}

// mounted lists mounts of this process that have to do with sandboxes.
func mounted(t testing.TB, run, home string) []string {
	t.Helper()
	info, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		t.Fatal(err)
	}
	var found []string
	for line := range strings.Lines(string(info)) {
		if strings.Contains(line, run) || strings.Contains(line, home) {
			found = append(found, "mount "+strings.TrimSpace(line))
		}
	}
	return found
}
