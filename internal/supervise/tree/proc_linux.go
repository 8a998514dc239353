package tree

import (
	"bytes"
	"os"
	"strconv"
	"strings"
	"sync"
)

// process is one row of /proc.
type process struct {
	pid, parent, group, session int
	started                     uint64
	zombie                      bool
	stopped                     bool
	guest                       bool // the guest of a sandbox
}

// census lists the machine's processes. Those who ask at the same time share one look, which begins after they asked:
// a thousand services that end together cost a few looks and not a thousand.
type census struct {
	mu   sync.Mutex // for next
	next *look      // that has not begun
	turn sync.Mutex // one look at a time
}

type look struct {
	once sync.Once
	all  []process
}

func (c *census) take() []process {
	c.mu.Lock()
	if c.next == nil {
		c.next = new(look)
	}
	l := c.next
	c.mu.Unlock()
	c.turn.Lock()
	defer c.turn.Unlock()
	l.once.Do(func() {
		c.mu.Lock()
		c.next = nil
		c.mu.Unlock()
		l.all = processes()
	})
	return l.all
}

func processes() []process {
	dir, err := os.Open("/proc")
	if err != nil {
		return nil
	}
	defer dir.Close()
	names, _ := dir.Readdirnames(-1) // what could be read is what there is
	all := make([]process, 0, len(names))
	for _, name := range names {
		if pid, err := strconv.Atoi(name); err == nil {
			if p, ok := readProcess(pid); ok {
				all = append(all, p)
			}
		}
	}
	return all
}

// Unborn are children of ours that are stopped before their exec: they still have our name, which no program of a
// service has a reason to take. They cannot have been reaped while a start waits for them.
func Unborn() (pids []int) {
	self := os.Getpid()
	name, err := os.ReadFile("/proc/self/comm")
	if err != nil {
		return nil
	}
	for _, p := range processes() {
		if p.parent != self || !p.stopped {
			continue
		}
		if theirs, err := os.ReadFile("/proc/" + strconv.Itoa(p.pid) + "/comm"); err == nil && bytes.Equal(theirs, name) {
			pids = append(pids, p.pid)
		}
	}
	return pids
}

func readProcess(pid int) (process, bool) {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return process{}, false
	}
	return parseStat(stat)
}

// parseStat reads the fields after the name, which is in parentheses and may itself hold spaces and parentheses.
func parseStat(stat []byte) (process, bool) {
	open, closing := bytes.IndexByte(stat, '('), bytes.LastIndexByte(stat, ')')
	if open < 1 || closing < open {
		return process{}, false
	}
	fields := bytes.Fields(stat[closing+1:])
	const state, parent, group, session, threads, started = 0, 1, 2, 3, 17, 19
	if len(fields) <= started {
		return process{}, false
	}
	number := func(b []byte) int { n, _ := strconv.Atoi(string(b)); return n }
	p := process{
		pid:     number(bytes.TrimSpace(stat[:open])),
		parent:  number(fields[parent]),
		group:   number(fields[group]),
		session: number(fields[session]),
		// A process whose first thread has ended looks dead, and is not as long as it has another.
		zombie: (fields[state][0] == 'Z' || fields[state][0] == 'X') && number(fields[threads]) <= 1,
	}
	p.stopped = fields[state][0] == 'T' || fields[state][0] == 't'
	p.started, _ = strconv.ParseUint(string(fields[started]), 10, 64)
	p.guest = isGuest(string(stat[open+1 : closing]))
	return p, p.pid > 0
}

// isGuest knows the guest of a sandbox by its name: that of its program, "guest-" and a digest, as far as the kernel
// keeps it. It tells nobody more of itself.
func isGuest(name string) bool {
	digest, ok := strings.CutPrefix(name, "guest-")
	return ok && len(name) == 15 && strings.Trim(digest, "0123456789abcdef") == ""
}

// hasEnvironment says whether a process was started with an entry in its environment. One that cannot be read has not.
func hasEnvironment(pid int, entry string) bool {
	env, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/environ")
	if err != nil {
		return false
	}
	for e := range bytes.SplitSeq(env, []byte{0}) {
		if string(e) == entry {
			return true
		}
	}
	return false
}
