package probe

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"hermes.example/hermes/internal/wire"
)

// The tests start their own binary as a probe.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == Mode {
		if err := Run(os.Args[2:]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// probe returns what a probe found, and which process it was.
func probe(t *testing.T) (wire.Probe, int) {
	t.Helper()
	door, err := net.Listen("unix", "@hermes-probe-test-"+rand.Text())
	if err != nil {
		t.Fatal(err)
	}
	defer door.Close()
	cmd := exec.Command("/proc/self/exe", Mode, door.Addr().String())
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	var found wire.Probe
	if err := json.Unmarshal(out, &found); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return found, cmd.Process.Pid
}

// ownMounts says that this process has mounts of its own, which nobody else changes.
const ownMounts = "HERMES_PROBE_TEST_MOUNTS"

// alone runs the test again in a mount namespace of its own, if it may, and says
// whether it did.
func alone(t *testing.T) bool {
	t.Helper()
	if os.Getuid() != 0 || os.Getenv(ownMounts) != "" {
		return false
	}
	cmd := exec.Command("/proc/self/exe", "-test.run=^"+t.Name()+"$", "-test.v")
	cmd.Env = append(os.Environ(), ownMounts+"=1")
	cmd.SysProcAttr = &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS}
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	switch {
	case err != nil && !errors.As(err, &exit):
		t.Logf("without mounts of its own: %v", err)
		return false
	case err != nil:
		t.Errorf("%v\n%s", err, out)
	case strings.Contains(string(out), "--- SKIP"):
		t.Skipf("%s", out)
	default:
		t.Logf("%s", out)
	}
	return true
}

// machine is what a trial could have changed.
func machine(t *testing.T) map[string]string {
	t.Helper()
	state := make(map[string]string)
	paths := []string{"/proc/sys/kernel/hostname", "/proc/sys/kernel/core_pattern", "/proc/swaps"}
	if os.Getenv(ownMounts) != "" {
		paths = append(paths, "/proc/self/mountinfo")
	}
	for _, path := range paths {
		content, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		state[path] = string(content)
	}
	var tick unix.Timex
	if _, err := unix.ClockAdjtime(unix.CLOCK_REALTIME, &tick); err != nil {
		t.Fatal(err)
	}
	state["tick"] = fmt.Sprint(tick.Tick)
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_CORE, &limit); err != nil {
		t.Fatal(err)
	}
	state["limits of the parent"] = fmt.Sprint(limit)
	return state
}

// Where nothing is enforced, a probe finds that, and changes nothing.
func TestTrialsOutsideWorkAndHaveNoEffect(t *testing.T) {
	if alone(t) {
		return
	}
	before := machine(t)
	found, pid := probe(t)
	if _, err := os.Lstat(fmt.Sprintf("/tmp/.hermes-probe-%d", pid)); err == nil {
		t.Error("a device is left")
	}
	for what, was := range before {
		if is := machine(t)[what]; is != was {
			t.Errorf("%s was %q and is %q", what, was, is)
		}
	}
	if len(found.Trials) < 40 || len(found.Mounts) == 0 || len(found.Interfaces) == 0 || found.Namespaces["user"] == "" || found.UIDMap == "" {
		t.Errorf("found %+v", found)
	}
	if own, err := os.Readlink("/proc/self/ns/mnt"); err != nil || found.Namespaces["mnt"] != own {
		t.Errorf("the probe is in %s, we are in %s, %v", found.Namespaces["mnt"], own, err)
	}
	if found.NoNewPrivileges || found.Landlock != wire.LandlockLacks {
		t.Errorf("found %+v", found)
	}
	if os.Getuid() != 0 || found.Seccomp || !slices.Contains(found.Capabilities, "SYS_ADMIN") {
		t.Skip("only root outside of any container can show that the trials work")
	}
	var refused []wire.Trial
	for _, trial := range found.Trials {
		if trial.Refused {
			refused = append(refused, trial)
		}
	}
	// A kernel may lack modules or kexec, a container limits and devices.
	t.Logf("refused here: %+v", refused)
	if len(refused) > len(found.Trials)/4 {
		t.Errorf("%d of %d trials are refused to root", len(refused), len(found.Trials))
	}
}

func TestMountsAreRead(t *testing.T) {
	for line, want := range map[string]wire.ProbedMount{
		`36 35 98:0 /mnt1 /mnt2 rw,noatime master:1 - ext3 /dev/root rw,errors=continue`: {System: "98:0", Root: "/mnt1", Target: "/mnt2", Type: "ext3"},
		`36 35 0:5 / /a\040b\134 ro - tmpfs none rw`:                                     {System: "0:5", Root: "/", Target: `/a b\`, Type: "tmpfs", ReadOnly: true},
		`36 35 0:5 / /x rw,nosuid - tmpfs none ro,size=1k`:                               {System: "0:5", Root: "/", Target: "/x", Type: "tmpfs", ReadOnly: true},
	} {
		if got, ok := parseMount(line); !ok || got != want {
			t.Errorf("%q is %+v, want %+v", line, got, want)
		}
	}
	for _, line := range []string{"", "36 35 98:0 /mnt1 /mnt2 rw", " - ext3 x rw", "1 2 - "} {
		if got, ok := parseMount(line); ok {
			t.Errorf("%q is %+v", line, got)
		}
	}
}
