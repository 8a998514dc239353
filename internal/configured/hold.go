package configured

import (
	"context"
	"errors"
	"time"

	"hermes.example/hermes/sandbox"
)

// hold is a task's sandbox that is kept open between calls. It is made by the first call of a task, which the others wait
// for, and given up when the sandbox has ended or nobody used it for the lifetime of sandboxes.
type hold struct {
	// made is closed when box or err is there.
	made chan struct{}
	box  *sandbox.Sandbox
	err  error
	// users are calls under way; used is when the last of them ended. Both are guarded by the Sandboxes' lock.
	users int
	used  time.Time
}

// Use calls f with the task's sandbox, which is obtained if need be and kept open for the next call: that one costs nothing
// but its commands. A sandbox that has ended meanwhile is obtained anew, before f is called and never after.
func (s *Sandboxes) Use(ctx context.Context, task string, f func(*sandbox.Sandbox) error) error {
	h, err := s.enter(ctx, task)
	if err != nil {
		return err
	}
	defer func() { // also of a call that panics, as those do whose answer is cut off
		s.leave(task, h, errors.Is(err, sandbox.ErrGone) || errors.Is(err, sandbox.ErrNotFound) || errors.Is(err, sandbox.ErrClosed))
	}()
	err = f(h.box)
	return err
}

// enter returns a hold whose sandbox runs, with this call among its users.
func (s *Sandboxes) enter(ctx context.Context, task string) (*hold, error) {
	for {
		h, mine, err := s.find(task)
		if err != nil {
			return nil, err
		}
		if mine {
			h.box, h.err = s.Obtain(ctx, task, s.options.Spec)
			close(h.made)
		}
		select {
		case <-h.made:
		case <-ctx.Done():
			s.leave(task, h, false)
			return nil, ctx.Err()
		}
		switch {
		case h.err == nil && h.box.Alive():
			return h, nil
		case h.err != nil && (mine || !isCancelled(h.err)):
			s.leave(task, h, true)
			return nil, h.err
		}
		// It has ended since, or whoever was making it has given up.
		s.leave(task, h, true)
	}
}

func isCancelled(err error) bool {
	return errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}

// find returns the task's hold, and whether it is the caller's to make.
func (s *Sandboxes) find(task string) (h *hold, mine bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, false, sandbox.ErrClosed
	}
	h = s.holds[task]
	if h == nil {
		if !s.expiring {
			s.expiring = true
			s.work.Go(s.expire)
		}
		h, mine = &hold{made: make(chan struct{})}, true
		s.holds[task] = h
	}
	h.users++
	return h, mine, nil
}

// leave ends a call. A hold that is spent is nobody's any more, and closed by the last who leaves it.
func (s *Sandboxes) leave(task string, h *hold, spent bool) {
	s.mu.Lock()
	h.users--
	h.used = time.Now()
	if spent && s.holds[task] == h {
		delete(s.holds, task)
	}
	last := h.users == 0 && s.holds[task] != h
	s.mu.Unlock()
	if last {
		s.giveUp(h)
	}
}

func (s *Sandboxes) giveUp(h *hold) {
	<-h.made
	if h.box == nil {
		return
	}
	if err := h.box.Close(); err != nil && s.life.Err() == nil {
		s.options.Log.Warn("cannot give a sandbox up", "task", h.box.Identity().Task, "why", err)
	}
}

// expire gives up holds that nobody used for a lifetime, until there are none.
func (s *Sandboxes) expire() {
	lifetime := max(s.opened.Lifetime, time.Second)
	ticker := time.NewTicker(max(lifetime/10, 100*time.Millisecond))
	defer ticker.Stop()
	for {
		select {
		case <-s.life.Done():
			return
		case <-ticker.C:
		}
		for task, h := range s.unused(lifetime) {
			if s.busy(h.box) {
				s.leave(task, h, false) // which counts as a use
				continue
			}
			s.leave(task, h, true)
		}
		if s.idle() {
			return
		}
	}
}

// unused are the holds that nobody used for so long. They have a user more, until they are left.
func (s *Sandboxes) unused(lifetime time.Duration) map[string]*hold {
	s.mu.Lock()
	defer s.mu.Unlock()
	found := make(map[string]*hold)
	for task, h := range s.holds {
		if h.users == 0 && time.Since(h.used) >= lifetime {
			h.users++
			found[task] = h
		}
	}
	return found
}

// idle says that there is nothing left to look after. The next hold brings somebody who does.
func (s *Sandboxes) idle() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.expiring = len(s.holds) > 0
	return !s.expiring
}

// Release gives up the hold on a task's sandbox unless a call uses it: what wants the sandbox idle would wait for us.
func (s *Sandboxes) Release(task string) {
	s.mu.Lock()
	h := s.holds[task]
	if h == nil || h.users > 0 {
		s.mu.Unlock()
		return
	}
	delete(s.holds, task)
	s.mu.Unlock()
	s.giveUp(h)
}

// busyBound is how long a guest may take to say what runs in it.
const busyBound = 5 * time.Second

// busy says whether processes run in the background of a sandbox.
func (s *Sandboxes) busy(box *sandbox.Sandbox) bool {
	ctx, cancel := context.WithTimeout(s.life, busyBound)
	defer cancel()
	all, err := box.Processes(ctx)
	if err != nil {
		return false
	}
	for _, p := range all {
		if p.State == sandbox.ProcessRunning {
			return true
		}
	}
	return false
}
