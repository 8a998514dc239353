package local_test

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"testing"

	"hermes.example/hermes/sandbox"
)

// traces lists what sandboxes have left: guests and their commands, what is in the
// run directory, and directories of the home.
func traces(t testing.TB, run string, ids []sandbox.Identity) []string {
	t.Helper()
	var found []string
	for _, id := range ids {
		found = append(found, commands(t, id.Key()+"-local")...)
		if dir := own(id, sandbox.Spec{}); exists(dir) {
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
	return append(found, guests(t)...)
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// commands lists processes that a sandbox's guest has started.
func commands(t testing.TB, runName string) (found []string) {
	t.Helper()
	for _, pid := range processes(t) {
		environ, _ := os.ReadFile("/proc/" + pid + "/environ")
		if bytes.Contains(environ, []byte("HERMES_EXEC_ID="+runName+"/")) {
			found = append(found, "process "+pid+" of "+runName)
		}
	}
	return found
}

// guests lists living guests that we have started.
func guests(t testing.TB) (found []string) {
	t.Helper()
	for _, pid := range processes(t) {
		status, _ := os.ReadFile("/proc/" + pid + "/status")
		if bytes.HasPrefix(status, []byte("Name:\tguest-")) && !bytes.Contains(status, []byte("State:\tZ")) &&
			bytes.Contains(status, []byte("\nPPid:\t"+strconv.Itoa(os.Getpid())+"\n")) {
			found = append(found, "guest process "+pid)
		}
	}
	return found
}

func processes(t testing.TB) (pids []string) {
	t.Helper()
	entries, err := os.ReadDir("/proc")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if _, err := strconv.Atoi(e.Name()); err == nil {
			pids = append(pids, e.Name())
		}
	}
	return pids
}
