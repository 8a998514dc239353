package drivertest

import (
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"hermes.example/hermes/internal/supervise"
)

func words(t *trial) {
	odd := "a 'b' \"c\" $HOME `d` \\ \n é %s -n = "
	s := t.service(one, `printf '<%s>' "$@" "$ODD" "$PWD" "$0" >out; env -0 | tr '\n\0' ' \n' | cut -d= -f1 >names; echo >done; exec sleep 1000`)
	s.Argv = append(s.Argv, "zero", odd, "", "--")
	s.Env = append(s.Env, "ODD="+odd, "EMPTY=", "not.a.shell.name=x")
	t.register(s, true)
	t.file("done")
	out, err := os.ReadFile(filepath.Join(t.Dir, "out"))
	t.ok(err)
	if want := "<" + odd + "><><--><" + odd + "><" + t.Dir + "><zero>"; string(out) != want {
		t.Errorf("it got %q\nand not %q", out, want)
	}
	for _, name := range strings.Fields(t.file("names")) {
		switch name {
		case "PATH", "ODD", "EMPTY", "not.a.shell.name":
		case "PWD", "OLDPWD", "SHLVL", "_": // the shell's own
		case "HERMES_SERVICE_ID": // the supervisor's mark
		default:
			t.Errorf("it got %s, which nobody gave it", name)
		}
	}
}

func user(t *trial) {
	t.register(t.service(one, "id -u >uid; id -g >gid; exec sleep 1000"), true)
	if uid, gid := atoi(t.T, t.file("uid")), atoi(t.T, t.file("gid")); t.User != nil && (uid != t.User.UID || gid != t.User.GID) {
		t.Errorf("it runs as %d:%d", uid, gid)
	}
}

func readiness(t *trial) {
	s := t.service(one, "while [ ! -e go ]; do sleep 0.01; done; eval \"echo ready >&$HERMES_NOTIFY_FD\"; exec sleep 1000")
	s.Ready.Notify = 5
	t.register(s, true)
	t.until(one, "it runs", func(st supervise.Status) bool { return st.PID > 1 })
	if st := t.status(one); st.State == supervise.Ready {
		t.Errorf("it is ready before it said so: %+v", st)
	}
	t.write("go")
	t.running(one, 0)
}

func limits(t *trial) {
	s := t.service(one, "ulimit -Sn >soft; ulimit -Hn >hard; exec sleep 1000")
	s.Limits = []supervise.Limit{{Resource: 7, Soft: 123, Max: 456}, {Resource: 0, Soft: 1 << 40, Max: 1 << 40}}
	t.register(s, true)
	if soft, hard := t.file("soft"), t.file("hard"); soft != "123\n" || hard != "456\n" {
		t.Errorf("the limits are %q and %q", soft, hard)
	}
}

func logs(t *trial) {
	s := t.service(one, "echo from stdout; echo from stderr >&2; exec sleep 1000")
	s.Log = filepath.Join(t.Dir, "log", one)
	t.ok(os.Mkdir(filepath.Dir(s.Log), 0o755))
	if t.User != nil {
		t.ok(os.Chown(filepath.Dir(s.Log), t.User.UID, t.User.GID))
	}
	t.register(s, true)
	line := regexp.MustCompile(`(?m)^\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d\S* +from (stdout|stderr)$`)
	var kept []byte
	t.eventually("both lines are kept with their times", func() bool {
		kept, _ = os.ReadFile(filepath.Join(s.Log, "current"))
		return len(line.FindAll(kept, -1)) == 2
	}, func() any { return string(kept) })
	raw := regexp.MustCompile(`(?m)^from (stdout|stderr)$`)
	t.eventually("both lines are passed on as they are", func() bool { return len(raw.FindAllString(t.Output(), -1)) == 2 }, func() any { return nil })
}

// write makes an empty file for a service to find.
func (t *trial) write(name string) {
	t.Helper()
	t.ok(os.WriteFile(filepath.Join(t.Dir, name), nil, 0o644))
}

func itoa(n int) string { return strconv.Itoa(n) }

func atoi(t *testing.T, s string) int {
	t.Helper()
	n, err := strconv.Atoi(strings.TrimSpace(s))
	if err != nil {
		t.Fatal(err)
	}
	return n
}
