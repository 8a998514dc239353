package guest

import (
	"os"
	"time"

	"hermes.example/hermes/internal/proc"
)

// retain keeps a finished command for callers that come back, and forgets the
// oldest ones: their output by size, themselves by age.
func (s *Server) retain(c *command) {
	if c.tree != nil {
		c.tree.close()
	}
	if c.background != nil {
		s.trim.Reset(trimAfter)
		s.forget(s.registry.expire(time.Now()))
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.trim.Reset(trimAfter)
	s.remember(c)
}

// remember keeps c, and forgets others for it. It is called with the lock held.
func (s *Server) remember(c *command) {
	c.retained = bootTime()
	s.finished = append(s.finished, c)
	c.measure()
	s.memory, s.disk = s.memory+c.memory, s.disk+c.disk
	for s.memory > keptMemory || s.disk > keptDisk {
		oldest := s.finished[s.dropped]
		oldest.drop()
		s.memory, s.disk = s.memory-oldest.memory, s.disk-oldest.disk
		s.dropped++
	}
	for c.retained-s.finished[0].retained > rememberedFor {
		delete(s.commands, s.finished[0].id)
		s.finished[0].drop()
		if s.dropped > 0 {
			s.dropped--
		} else {
			s.memory, s.disk = s.memory-s.finished[0].memory, s.disk-s.finished[0].disk
		}
		s.finished = s.finished[1:]
	}
}

// settle takes a command that ended off the lease.
func (s *Server) settle(c *command) {
	left := s.leftovers(c)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.running--
	s.ends++
	s.lastUse = bootTime()
	for pid, o := range left {
		s.orphans[pid] = o
	}
}

const (
	keptMemory    = 2 << 20
	keptDisk      = 256 << 20
	rememberedFor = 24 * time.Hour
)

// orphan is a background process that outlived its command.
type orphan struct {
	started uint64
	owner   *command
}

// leftovers finds the orphans of a command that just ended, where membership is
// known by lineage only.
func (s *Server) leftovers(c *command) map[int]orphan {
	if _, ok := c.tree.(*lineageTree); !ok {
		return nil
	}
	var found map[int]orphan
	self := os.Getpid()
	for _, pid := range proc.PIDs() {
		if pid == self || s.reaper.isMain(pid) {
			continue
		}
		if p, ok := proc.Read(pid); ok && p.Parent == self && !p.Zombie && !s.ownedByAnother(c, p) {
			if found == nil {
				found = make(map[int]orphan)
			}
			found[pid] = orphan{p.Started, c}
		}
	}
	return found
}

// ownedByAnother says whether p, a child of the guest, belongs to a command
// other than c.
func (s *Server) ownedByAnother(c *command, p proc.Process) bool {
	if p.PID != c.pid && s.reaper.isMain(p.PID) {
		return true
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	o, ok := s.orphans[p.PID]
	return ok && o.started == p.Started && o.owner != c
}
