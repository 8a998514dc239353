package wheels

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// python is the interpreter that counts: Debian's, not another one that comes first on somebody's search path.
const python = "/usr/bin/python3"

// runtime is where the tests' set-up builds the sealed runtime, which has both tools.
const runtime = ".cache/runtime/bin"

// UV is a real uv: the sealed runtime's, else the machine's. The test is skipped where there is none.
func UV(t testing.TB) string {
	t.Helper()
	for _, name := range []string{filepath.Join(repository(t), runtime, "uv"), "uv"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	t.Skip("there is no uv: run scripts/test-deps.sh")
	return ""
}

// Pip is the command line of a real pip, to be followed by its arguments: the machine's, else the sealed runtime's.
// The test is skipped where there is none.
func Pip(t testing.TB) []string {
	t.Helper()
	for _, interpreter := range []string{python, filepath.Join(repository(t), runtime, "python3")} {
		if exec.Command(interpreter, "-I", "-c", "import pip").Run() == nil {
			return []string{interpreter, "-I", "-m", "pip"}
		}
	}
	t.Skip("there is no pip: run scripts/test-deps.sh")
	return nil
}

// Tool is a real installer.
type Tool string

// The tools that Install knows.
const (
	WithUV  Tool = "uv"
	WithPip Tool = "pip"
)

// Install lets a real tool install exactly these wheels into a directory, as a target, and returns what it said. It
// does not go through an index and needs no network.
func Install(t testing.TB, tool Tool, into string, all ...Wheel) (output string, err error) {
	t.Helper()
	var command []string
	if tool == WithUV {
		command = []string{UV(t), "pip", "install", "--python", python, "--no-config", "--no-python-downloads", "--cache-dir", t.TempDir(), "--offline"}
	} else {
		command = append(Pip(t), "install", "--disable-pip-version-check", "--root-user-action", "ignore", "--no-cache-dir")
	}
	command = append(command, "--no-index", "--no-deps", "--target", into)
	for _, w := range all {
		command = append(command, Build(t, w))
	}
	cmd := exec.Command(command[0], command[1:]...)
	cmd.Env = []string{"PATH=/usr/bin:/bin", "HOME=" + t.TempDir(), "LANG=C.UTF-8"}
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// repository is the directory with go.mod above the test.
func repository(t testing.TB) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for ; dir != "/"; dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir
		}
	}
	t.Fatal("there is no go.mod above this test")
	return ""
}
