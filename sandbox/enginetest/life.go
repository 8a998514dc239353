package enginetest

import (
	"context"
	"errors"
	"testing"

	"hermes.example/hermes/sandbox"
)

var lifeTests = []test{
	{"life/closing leaves processes running for the next caller", processesGoOn},
	{"life/a process that ends leaves processes running", processesOutliveProcess},
	{"life/home and workspace survive a removal", filesSurvive},
	{"life/a removal with files leaves none", filesAreRemoved},
	{"life/files of other users are removed too", foreignFilesAreRemoved},
	{"life/what is in memory does not survive", memoryDoesNotSurvive},
	{"life/cleaning up nothing and cleaning up twice is harmless", cleanupIsHarmless},
	{"life/a removal ends what runs", removalEndsAll},
	{"life/a caller that gives up while it waits gets its answer", cancelledEnsure},
}

func processesGoOn(t *testing.T, s *suite) {
	id := s.identity(t)
	first := sandbox.NewManager(s.engine, sandbox.Options{NoSweep: true})
	b := s.ensure(t, first, id, s.spec())
	me := b.output(whoami)
	b.output("sleep 1000 >/dev/null 2>&1 & echo $! >/tmp/pid")
	b.session("s").output("sleep 1001 & echo $! >>/tmp/pid")
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	again := s.ensure(t, s.another(t, s.engine), id, s.spec())
	again.says(whoami, me)
	again.says("for pid in $(cat /tmp/pid); do tr '\\0' ' ' </proc/$pid/cmdline; done", "sleep 1000 sleep 1001 ")
}

func processesOutliveProcess(t *testing.T, s *suite) {
	id := s.identity(t)
	e := errand{Identity: id, Spec: s.spec(), Line: "sleep 1000 & echo $! >/tmp/pid", Abandon: true}
	s.elsewhere(t, e).done()
	s.ensure(t, s.manager, id, s.spec()).says("tr '\\0' ' ' </proc/$(cat /tmp/pid)/cmdline", "sleep 1000 ")
}

func filesSurvive(t *testing.T, s *suite) {
	b := s.box(t)
	me := b.output("id -u")
	b.output("echo work >/workspace/file; mkdir ~/dir; echo home >~/dir/file; chmod 750 ~/dir; ln -s dir ~/link; printf x >~/.hidden")
	s.removed(b)
	if !s.gone(t, b.Identity()) {
		t.Error("it is still there")
	}
	again := s.ensure(t, s.manager, b.Identity(), s.spec())
	again.says("cat /workspace/file ~/link/file ~/.hidden; stat -c %a:%u ~/dir", "work\nhome\nx750:"+me)
}

func filesAreRemoved(t *testing.T, s *suite) {
	b := s.box(t)
	b.output("echo work >/workspace/file; mkdir -p ~/deep/er; echo x >~/deep/er/file; chmod 0 ~/deep/er; chmod 0 ~/deep; mkfifo ~/fifo; ln -s / ~/root")
	if err := s.manager.Remove(bounded(t), b.Identity(), true); err != nil {
		t.Fatal(err)
	}
	s.nothing(t, b.Identity())
	s.ensure(t, s.manager, b.Identity(), s.spec()).says("ls -A ~ /workspace", "/root:\n\n/workspace:")
}

func foreignFilesAreRemoved(t *testing.T, s *suite) {
	s.need(t, ManyIDs)
	b := s.box(t)
	b.output("mkdir ~/dir; echo x >~/dir/file; chown -R 1000:2000 ~/dir; chmod 700 ~/dir; chown 65534 ~/dir/file")
	if err := s.manager.Remove(bounded(t), b.Identity(), true); err != nil {
		t.Fatal(err)
	}
	s.nothing(t, b.Identity())
}

func memoryDoesNotSurvive(t *testing.T, s *suite) {
	b := s.box(t)
	b.session("s").output("export A=1; : >/tmp/file; : >/dev/shm/file")
	s.removed(b)
	b.session("s").says("echo ${A-unset}", "unset")
	if s.isolated() {
		b.says("ls /tmp /dev/shm", "/dev/shm:\n\n/tmp:")
	}
}

func cleanupIsHarmless(t *testing.T, s *suite) {
	id := s.identity(t)
	for range 2 {
		for _, files := range []bool{false, true} {
			if err := s.manager.Remove(bounded(t), id, files); err != nil {
				t.Errorf("removing nothing: %v", err)
			}
		}
	}
	m := sandbox.NewManager(s.engine, sandbox.Options{NoSweep: true})
	b := s.ensure(t, m, id, s.spec())
	b.output("true")
	for range 2 {
		if err := m.Remove(bounded(t), id, true); err != nil {
			t.Error(err)
		}
		if err := b.Close(); err != nil {
			t.Error(err)
		}
		if err := m.Close(); err != nil {
			t.Error(err)
		}
	}
	if err := sandbox.NewManager(s.engine, sandbox.Options{}).Close(); err != nil {
		t.Errorf("closing a manager that did nothing: %v", err)
	}
	s.nothing(t, id)
}

func removalEndsAll(t *testing.T, s *suite) {
	b := s.box(t)
	b.output(tree + "true")
	if err := s.manager.Remove(bounded(t), b.Identity(), true); err != nil {
		t.Fatal(err)
	}
	if _, err := s.manager.StatusOf(bounded(t), b.Identity()); !errors.Is(err, sandbox.ErrGone) && !errors.Is(err, sandbox.ErrNotFound) {
		t.Errorf("its guest still answers: %v", err)
	}
	s.nothing(t, b.Identity())
}

func cancelledEnsure(t *testing.T, s *suite) {
	id := s.identity(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.manager.Ensure(ctx, id, s.spec()); !errors.Is(err, context.Canceled) {
		t.Errorf("the error is %v", err)
	}
	s.nothing(t, id)
}
