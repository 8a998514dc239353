package guest

import (
	"bufio"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// journal remembers which command ids were started, across a restart of the
// guest: an id that an earlier guest started is answered "lost", never run again.
// It is written before the command starts. The kernel keeps what was written when
// the guest dies; only a crash of the machine can take the last lines, and then
// also what the commands did.
type journal struct {
	mu   sync.Mutex
	ids  map[string]struct{}
	file *os.File
}

const journalName = "execs"

// openJournal reads the ids of the last day. Without a directory, or on one that
// cannot be written, the journal only lasts as long as the guest.
func openJournal(dir *os.File) *journal {
	j := &journal{ids: make(map[string]struct{})}
	if dir == nil {
		return j
	}
	fd, err := unix.Openat(int(dir.Fd()), journalName, unix.O_RDWR|unix.O_CREAT|unix.O_APPEND|unix.O_CLOEXEC|unix.O_NOFOLLOW, 0o600)
	if err != nil {
		return j
	}
	j.file = os.NewFile(uintptr(fd), journalName)
	oldest := time.Now().Add(-rememberedFor).Unix()
	var kept strings.Builder
	lines := bufio.NewScanner(j.file)
	for lines.Scan() {
		stamp, id, ok := strings.Cut(lines.Text(), " ")
		at, err := strconv.ParseInt(stamp, 10, 64)
		if ok && err == nil && at >= oldest {
			if id, err := strconv.Unquote(id); err == nil {
				j.ids[id] = struct{}{}
				kept.WriteString(lines.Text() + "\n")
			}
		}
	}
	j.file.Truncate(0)
	j.file.WriteString(kept.String())
	return j
}

// has says whether an earlier guest started id.
func (j *journal) has(id string) bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	_, ok := j.ids[id]
	return ok
}

func (j *journal) add(id string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.file != nil {
		j.file.WriteString(strconv.FormatInt(time.Now().Unix(), 10) + " " + strconv.Quote(id) + "\n")
	}
}
