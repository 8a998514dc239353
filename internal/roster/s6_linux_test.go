package roster

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"hermes.example/hermes/internal/asuser"
	"hermes.example/hermes/internal/profile"
	"hermes.example/hermes/internal/supervise"
	"hermes.example/hermes/internal/supervise/s6"
)

// newS6Bench is a roster on a real s6 of the user who owns the home. Its scanner is not running yet: that is for scan.
func newS6Bench(t *testing.T) (b *bench, scan func()) {
	t.Helper()
	scanner, err := exec.LookPath("s6-svscan")
	if err != nil {
		t.Skip("there is no s6")
	}
	root, err := os.MkdirTemp("", "roster") // which others may enter, unlike the test's own
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(root) })
	scanDir := filepath.Join(root, "service")
	if err := errors.Join(os.Chmod(root, 0o755), os.Mkdir(scanDir, 0o755)); err != nil {
		t.Fatal(err)
	}
	home, options := &profile.Home{Root: root}, s6.Options{ScanDir: scanDir}
	attributes := &syscall.SysProcAttr{Setsid: true}
	if os.Geteuid() == 0 {
		options.User = &supervise.User{UID: stranger, GID: stranger}
		attributes.Credential = &syscall.Credential{Uid: stranger, Gid: stranger}
		if home.Hand, err = asuser.New(asuser.User{UID: stranger, GID: stranger}); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(home.Hand.Close)
	}
	driver, err := s6.New(options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(driver.Close)
	b = benchOf(t, root, driver)
	b.home = home
	return b, func() {
		b.own()
		pid, ended, err := theReaper().Start(func() (int, error) {
			return syscall.ForkExec(scanner, []string{scanner, scanDir}, &syscall.ProcAttr{Dir: root, Env: []string{"PATH=/usr/bin:/bin"}, Files: []uintptr{0, 1, 2}, Sys: attributes})
		})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			_ = syscall.Kill(pid, syscall.SIGTERM)
			select {
			case <-ended:
			case <-time.After(bound):
				_ = syscall.Kill(pid, syscall.SIGKILL)
				t.Error("the scanner did not end")
			}
		})
	}
}

// own gives the home to the user, as a boot does.
func (b *bench) own() {
	b.t.Helper()
	if os.Geteuid() != 0 {
		return
	}
	err := filepath.Walk(b.root, func(path string, _ os.FileInfo, err error) error {
		return errors.Join(err, os.Lchown(path, stranger, stranger))
	})
	if err != nil {
		b.t.Fatal(err)
	}
}

func (b *bench) slot(name, file string) bool {
	_, err := os.Lstat(filepath.Join(b.root, "service", ServiceName(name), file))
	return err == nil
}

func TestABootAndItsGatewaysOnS6(t *testing.T) {
	b, scan := newS6Bench(t)
	b.put("gateway_state.json", `{"gateway_state":"stopped"}`)
	b.profile("running", `{"desired_state":"running","x":1}`)
	b.own()
	// A boot reconciles before the scanner runs, which then finds the slots as they are.
	for _, o := range b.Reconcile(t.Context(), Boot{}) {
		if o.Err != nil {
			t.Fatal(o.Err)
		}
	}
	if !b.slot("default", "down") || !b.slot("running", "run") || b.slot("running", "down") {
		t.Error("the slots are not as they should be")
	}
	scan()
	b.eventually("they are as they were left", func() bool { return b.wants() == "default:down running:up" })
	if status, err := b.Wait(t.Context(), "gateway-running"); err != nil || !status.Running() {
		t.Errorf("%+v, %v", status, err)
	}
	if log := b.audit(); !strings.Contains(log, "profile=running prior_state=running action=started") {
		t.Errorf("the log of boots is\n%s", log)
	}

	b.profile("host", "")
	b.put("profiles/half/config.yaml", "")
	b.own()
	if err := b.Start(t.Context(), "gateway-half"); !errors.Is(err, supervise.ErrNotRegistered) || b.slot("half", "") {
		t.Errorf("without its mark: %v", err)
	}
	for _, step := range []struct {
		do      func() error
		desired string
		state   supervise.State
	}{
		{func() error { return b.Start(t.Context(), "gateway-host") }, "running", supervise.Ready},
		{func() error { return b.Stop(t.Context(), "gateway-host") }, "stopped", supervise.Down},
		{func() error { return b.Restart(t.Context(), "gateway-host") }, "running", supervise.Ready},
	} {
		if err := step.do(); err != nil {
			t.Fatal(err)
		}
		b.eventually("it is as wanted", func() bool {
			status, err := b.Wait(t.Context(), "gateway-host")
			return err == nil && status.State == step.state
		})
		if got := b.state("host").Desired; got != step.desired {
			t.Errorf("%q is written down, not %s", got, step.desired)
		}
	}
	if err := b.Unregister(t.Context(), "host"); err != nil || b.slot("host", "") {
		t.Errorf("it is there: %v", err)
	}
}
