package bench

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"hermes.example/hermes/internal/supervise"
	"hermes.example/hermes/internal/supervise/reaper"
)

// nobody is who the services of the measurements run as where that can be chosen.
const nobody = 65534

// mark is what a service does first: it makes a file, by which everybody sees that it runs.
const mark = `: >"$0"; exec sleep 1000`

// idle is how long services are watched that do nothing.
const idle = 3 * time.Second

// servicesFigures are what Supervisor measured.
type servicesFigures struct {
	Millis float64 `json:"millis"`
	MB     float64 `json:"mb,omitempty"`
	CPU    float64 `json:"cpu,omitempty"` // percent of one core
}

// Supervisor measures a supervisor, in a process of its own because its reaper waits for every child: for each line
// of its input, a number of services and a directory, it starts so many and prints what that took.
func Supervisor(in io.Reader, out io.Writer) error {
	s := supervise.New(supervise.Options{Reaper: reaper.New(), Output: io.Discard})
	lines := bufio.NewScanner(in)
	for round := 0; lines.Scan(); round++ {
		words := strings.SplitN(lines.Text(), " ", 2)
		count, err := strconv.Atoi(words[0])
		if err != nil || len(words) != 2 {
			return fmt.Errorf("cannot measure %q", lines.Text())
		}
		f, err := measureServices(s, round, count, words[1])
		if err != nil {
			return err
		}
		if err := json.NewEncoder(out).Encode(f); err != nil {
			return err
		}
	}
	if left := s.Shutdown(context.Background()); left != nil {
		return fmt.Errorf("cannot end the services: %v", left)
	}
	return lines.Err()
}

func measureServices(s *supervise.Supervisor, round, count int, dir string) (f servicesFigures, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	name := func(i int) string { return fmt.Sprintf("bench-%d-%d", round, i) }
	before := residentMB()
	f.Millis, err = timed(func() error {
		for i := range count {
			service := supervise.Service{Name: name(i), Argv: []string{"/bin/sh", "-c", mark, filepath.Join(dir, name(i))}, Env: os.Environ(), Dir: "/"}
			if os.Geteuid() == 0 {
				service.User = &supervise.User{UID: nobody, GID: nobody}
			}
			if err := s.Register(ctx, service, true); err != nil {
				return err
			}
		}
		return marked(ctx, dir, count)
	})
	if err != nil {
		return f, err
	}
	if count > 1 {
		f.MB = residentMB() - before
		f.CPU = ownCPU(idle)
	}
	if failed, _ := together(count, func(i int) error { return s.Unregister(ctx, name(i)) }); failed > 0 {
		return f, fmt.Errorf("cannot end %d of %d services", failed, count)
	}
	return f, nil
}

// marked waits until so many services have made their file.
func marked(ctx context.Context, dir string, count int) error {
	for {
		d, err := os.Open(dir)
		if err != nil {
			return err
		}
		names, err := d.Readdirnames(-1)
		d.Close()
		if err != nil || len(names) >= count {
			return err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("cannot see more than %d of %d services: %w", len(names), count, ctx.Err())
		case <-time.After(100 * time.Microsecond):
		}
	}
}

// ownCPU is the percentage of a core that this process needs while nothing happens.
func ownCPU(during time.Duration) float64 {
	used := func() time.Duration {
		var u syscall.Rusage
		if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
			return 0
		}
		return time.Duration(u.Utime.Nano() + u.Stime.Nano())
	}
	before := used()
	time.Sleep(during)
	return 100 * float64(used()-before) / float64(during)
}

func residentMB() float64 {
	text, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		return 0
	}
	pages, _ := strconv.Atoi(strings.Fields(string(text))[1])
	return float64(pages*os.Getpagesize()) / (1 << 20)
}
