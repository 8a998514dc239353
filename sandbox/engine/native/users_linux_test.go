package native_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestNativeAsOrdinaryUser runs the suite as a user who has subordinate ids.
func TestNativeAsOrdinaryUser(t *testing.T) {
	runAs(t, newUser(t, true), "subordinate", "TestNative")
}

func TestNativeOnImageAsOrdinaryUser(t *testing.T) {
	runAs(t, newUser(t, true), "subordinate", "TestNativeOnImage")
}

// TestNativeWithASingleID runs the suite as a user who has no other ids.
func TestNativeWithASingleID(t *testing.T) {
	runAs(t, newUser(t, false), "single", "TestNative")
}

func TestNativeOnImageWithASingleID(t *testing.T) {
	runAs(t, newUser(t, false), "single", "TestNativeOnImage")
}

// imageTests are those of images that need no root.
const imageTests = "Test(AnImage(Says|Cannot|IsFetched|That)|Changes|Layers|Forks|Frozen|ForkKilled|Commit).*"

func TestImagesAsOrdinaryUser(t *testing.T) { runAs(t, newUser(t, true), "subordinate", imageTests) }

func TestImagesWithASingleID(t *testing.T) { runAs(t, newUser(t, false), "single", imageTests) }

func needMapper(t *testing.T) {
	t.Helper()
	for _, program := range []string{"newuidmap", "newgidmap"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("%s is missing: Debian has it in the package uidmap", program)
		}
	}
}

// account is a user that a test made.
type account struct {
	name     string
	uid, gid int
}

// newUser makes a user and removes it with the test.
func newUser(t *testing.T, subordinate bool) account {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("only root can make users; TestNative runs as the user who runs the tests")
	}
	for _, program := range []string{"useradd", "userdel"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("%s is missing", program)
		}
	}
	name := fmt.Sprintf("hermes-%d-%d", os.Getpid(), time.Now().UnixNano()%1_000_000)
	kind := "--system" // these get no subordinate ids
	if subordinate {
		needMapper(t)
		kind = "--user-group"
	}
	administer(t, "useradd", kind, "--no-create-home", "--home-dir", "/nonexistent", "--shell", "/bin/sh", name)
	t.Cleanup(func() { administer(t, "userdel", name) })
	u, err := user.Lookup(name)
	if err != nil {
		t.Fatal(err)
	}
	a := account{name: name}
	a.uid, _ = strconv.Atoi(u.Uid)
	a.gid, _ = strconv.Atoi(u.Gid)
	if has := hasRange(t, name); has != subordinate {
		if subordinate {
			t.Skip("useradd gives no subordinate ids on this machine (see SUB_UID_COUNT in login.defs)")
		}
		t.Fatalf("the user %s has subordinate ids", name)
	}
	return a
}

// administer runs a program that changes the list of users. Another one may have
// it locked.
func administer(t *testing.T, program string, args ...string) {
	t.Helper()
	const locked = 10
	for try := 0; ; try++ {
		out, err := exec.Command(program, args...).CombinedOutput()
		var exit *exec.ExitError
		if errors.As(err, &exit) && exit.ExitCode() == locked && try < 100 {
			<-time.After(50 * time.Millisecond)
			continue
		}
		if err != nil {
			t.Errorf("%s: %v: %s", program, err, out)
		}
		return
	}
}

func hasRange(t *testing.T, name string) bool {
	t.Helper()
	content, err := os.ReadFile("/etc/subuid")
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	return strings.Contains("\n"+string(content), "\n"+name+":")
}

// runAs runs a test in a process of the account, and shows each of its subtests as
// one of t.
func runAs(t *testing.T, a account, ids, test string) {
	t.Helper()
	home := ownDir(t, a)
	// By this name, because the account may not walk to where the program is.
	cmd := exec.Command("/proc/self/exe", "-test.v=test2json", "-test.run="+suitePattern(test), "-test.timeout="+remaining(t))
	cmd.Dir = home
	cmd.Env = []string{
		ownUserVariable + "=1",
		"PATH=" + os.Getenv("PATH"), "HOME=" + home, "TMPDIR=" + filepath.Join(home, "tmp"), "XDG_RUNTIME_DIR=" + filepath.Join(home, "run"),
		"USER=" + a.name, idsVariable + "=" + ids,
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{
		Credential: &syscall.Credential{Uid: uint32(a.uid), Gid: uint32(a.gid)},
		Pdeathsig:  syscall.SIGKILL,
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stderr = cmd.Stdout
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { endAll(t, a) })
	passOn(t, out)
	if err := cmd.Wait(); err != nil && !t.Failed() {
		t.Errorf("the tests of %s ended with %v and no test failed", a.name, err)
	}
}

// ownDir makes what an ordinary user's session has.
func ownDir(t *testing.T, a account) string {
	t.Helper()
	// Not below t.TempDir, whose parents are closed to others.
	home, err := os.MkdirTemp("/tmp", "hermes-native-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(home); err != nil {
			t.Error(err)
		}
	})
	for _, dir := range []string{home, filepath.Join(home, "tmp"), filepath.Join(home, "run")} {
		if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, os.ErrExist) {
			t.Fatal(err)
		}
		if err := os.Chown(dir, a.uid, a.gid); err != nil {
			t.Fatal(err)
		}
	}
	return home
}

// suitePattern selects in the child what was selected here.
func suitePattern(test string) string {
	const flag = "-test.run="
	for _, arg := range os.Args[1:] {
		if pattern, ok := strings.CutPrefix(arg, flag); ok {
			if _, sub, nested := strings.Cut(pattern, "/"); nested {
				return "^" + test + "$/" + sub
			}
		}
	}
	return "^" + test + "$"
}

// remaining leaves the parent time to report.
func remaining(t *testing.T) string {
	if deadline, ok := t.Deadline(); ok {
		return max(time.Until(deadline)-10*time.Second, time.Second).String()
	}
	return "0"
}

// endAll ends what runs as the account, so that it can be removed. All of it was
// started by this test: the account is the test's own.
func endAll(t *testing.T, a account) {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		t.Error(err)
		return
	}
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		status, err := os.ReadFile(filepath.Join("/proc", e.Name(), "status"))
		if err == nil && strings.Contains(string(status), fmt.Sprintf("\nUid:\t%d\t", a.uid)) && !strings.Contains(string(status), "State:\tZ") {
			t.Errorf("process %d of %s is left", pid, a.name)
			syscall.Kill(pid, syscall.SIGKILL)
		}
	}
}
