package guest

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"hermes.example/hermes/internal/guest/watch"
	"hermes.example/hermes/internal/wire"
)

// registry is the background processes of a sandbox: those of this guest, and
// those that earlier ones left on the disk.
//
// Each has a directory in the spool, named by its id, with its log and its
// record: a line of JSON when it began and another when it had ended. Lines are
// only ever added, so that no moment is the wrong one to be killed in, and a
// process takes all of its traces along when it is forgotten.
//
// Locking rule: mu may be taken with the server's lock held, never the other way
// round, and nothing waits for an output with mu held.
type registry struct {
	spool    *os.File
	breaker  watch.Breaker
	together atomic.Int64 // bytes of all logs

	mu  sync.Mutex
	dir *os.File   // made by the first process
	all []*command // in the order of their start
}

const (
	registryName = "processes"
	recordName   = "record"
	// maxRecord bounds what is read of a record, maxShown what is written.
	maxRecord = 256 << 10

	// keptProcesses is how many that have ended are kept, for how long as long
	// as other commands, and keptLogs what all logs may take, with one part of
	// a log for each that runs.
	keptProcesses = 256
	keptLogs      = 256 << 20
)

func openRegistry(spool *os.File) *registry {
	r := &registry{spool: spool}
	if spool != nil {
		r.dir, _ = r.openDir() // the first process makes it, or says why it cannot
	}
	return r
}

func (r *registry) openDir() (*os.File, error) {
	fd, err := unix.Openat(int(r.spool.Fd()), registryName, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC|unix.O_NOFOLLOW, 0)
	if err != nil {
		return nil, os.NewSyscallError("open", err)
	}
	return os.NewFile(uintptr(fd), registryName), nil
}

// add enters a process that is about to start.
func (r *registry) add(c *command) *wire.Failure {
	r.mu.Lock()
	defer r.mu.Unlock()
	name := c.background.process.Name
	for _, other := range r.all {
		if name != "" && other.background.process.Name == name && other.exit.Load() == nil {
			return &wire.Failure{Code: wire.FailureBadRequest, Message: fmt.Sprintf("%s is running under the name %q: choose another, or end that one", other.id, name)}
		}
	}
	r.all = append(r.all, c)
	return nil
}

// open makes the directory, the record and the log of a process that is to run in
// cwd.
func (r *registry) open(s *Server, c *command, cwd string) error {
	if err := r.makeDirs(c.id); err != nil {
		return fmt.Errorf("cannot keep a log: %w", err)
	}
	b := c.background
	b.process.Cwd = cwd
	b.sink = logSink{s, c}
	c.stdout = newLog(newLogFile(r.dir, c.id, c.request.Window, &r.together))
	c.stderr = c.stdout
	if err := r.note(c); err != nil {
		return fmt.Errorf("cannot keep a record: %w", err)
	}
	return nil
}

func (r *registry) makeDirs(id string) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.dir == nil {
		if r.spool == nil {
			return errors.New("this sandbox has no place for it")
		}
		err := unix.Mkdirat(int(r.spool.Fd()), registryName, 0o700)
		if err == nil || err == unix.EEXIST {
			r.dir, err = r.openDir()
		}
		if err != nil {
			return err
		}
	}
	return os.NewSyscallError("mkdir", unix.Mkdirat(int(r.dir.Fd()), id, 0o700))
}

// note writes down what is known of a process.
func (r *registry) note(c *command) error {
	line, err := json.Marshal(c.describe())
	if err != nil {
		return err
	}
	fd, err := unix.Openat(int(r.dir.Fd()), c.id+"/"+recordName, unix.O_WRONLY|unix.O_CREAT|unix.O_APPEND|unix.O_CLOEXEC|unix.O_NOFOLLOW, 0o600)
	if err != nil {
		return os.NewSyscallError("open", err)
	}
	f := os.NewFile(uintptr(fd), recordName)
	defer f.Close()
	_, err = f.Write(append(line, '\n'))
	return err
}

// list returns all processes that have started, or could not.
func (r *registry) list() []*command {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(r.all), func(c *command) bool {
		select {
		case <-c.ready:
			return false
		default:
			return true
		}
	})
}

// ended are those that have, by the time of it. It is called with the lock held.
func (r *registry) ended() []*command {
	var ended []*command
	for _, c := range r.all {
		select {
		case <-c.done:
			ended = append(ended, c)
		default:
		}
	}
	slices.SortStableFunc(ended, func(a, b *command) int { return a.background.ended.Compare(b.background.ended) })
	return ended
}

// takeOldest takes the process off the books that ended first, or returns nil.
func (r *registry) takeOldest() *command {
	r.mu.Lock()
	defer r.mu.Unlock()
	ended := r.ended()
	if len(ended) == 0 {
		return nil
	}
	r.remove(ended[:1])
	return ended[0]
}

// expire takes those off the books that are too old or too many.
func (r *registry) expire(now time.Time) []*command {
	r.mu.Lock()
	defer r.mu.Unlock()
	ended := r.ended()
	n := max(0, len(ended)-keptProcesses)
	for n < len(ended) && now.Sub(ended[n].background.ended) > rememberedFor {
		n++
	}
	r.remove(ended[:n])
	return ended[:n]
}

func (r *registry) remove(victims []*command) {
	if len(victims) > 0 {
		r.all = slices.DeleteFunc(r.all, func(c *command) bool { return slices.Contains(victims, c) })
	}
}

// load enters the processes that earlier guests left, and returns them.
func (r *registry) load() []*command {
	if r.dir == nil {
		return nil
	}
	names, _ := listDir(r.dir, ".")
	for _, id := range names {
		files, err := listDir(r.dir, id)
		if err != nil || !processID(id) {
			continue
		}
		p, ok := r.readRecord(id)
		if !ok || p.ID != id {
			removeLog(r.dir, id) // its guest was killed before it began
			continue
		}
		log := newLogFile(r.dir, id, defaultLog, &r.together)
		log.load(slices.DeleteFunc(files, func(name string) bool { return name == recordName }))
		r.all = append(r.all, recalled(p, newLog(log)))
	}
	slices.SortFunc(r.all, func(a, b *command) int { return a.background.process.Started.Compare(b.background.process.Started) })
	return r.all
}

func (r *registry) readRecord(id string) (wire.Process, bool) {
	fd, err := unix.Openat(int(r.dir.Fd()), id+"/"+recordName, unix.O_RDONLY|unix.O_CLOEXEC|unix.O_NOFOLLOW, 0)
	if err != nil {
		return wire.Process{}, false
	}
	f := os.NewFile(uintptr(fd), recordName)
	defer f.Close()
	data := make([]byte, maxRecord)
	n, _ := f.ReadAt(data, 0)
	return lastRecord(data[:n])
}

// unknownProcess is the answer to a request about a process that there is not.
func unknownProcess(id string) *wire.Failure {
	return &wire.Failure{Code: wire.FailureUnknownID, Message: "no background process has the id " + strconv.Quote(id)}
}
