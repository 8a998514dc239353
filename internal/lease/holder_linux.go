package lease

import (
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
	"time"

	"hermes.example/hermes/internal/proc"
)

// Holder is who supervises, as the file says it.
type Holder struct {
	// Host is the name of its machine, for people; Machine and Boot are what tells machines and their boots apart.
	Host    string `json:"host"`
	Machine string `json:"host_id,omitempty"`
	Boot    string `json:"boot_id"`
	// Container is its container's id, if it could find that out.
	Container string `json:"container_id,omitempty"`
	PID       int    `json:"pid"`
	// Claim is random: it tells one holder from the next.
	Claim string `json:"claim"`
	// Since is when it took the lease, Beat when it was heard of last: the zero time once it gave the lease up.
	Since time.Time `json:"since"`
	Beat  time.Time `json:"beat"`
}

// HeldError says that another one supervises, and which.
type HeldError struct {
	Holder Holder
	// Age is how long ago it was heard of.
	Age time.Duration
}

func (e *HeldError) Error() string {
	return fmt.Sprintf("cannot supervise this home: %s does; stop that one, or give this one a home of its own", e.Name())
}

// Name is the holder in a few words.
func (e *HeldError) Name() string {
	h := e.Holder
	if h.Claim == "" {
		return "somebody who left no name"
	}
	who := fmt.Sprintf("process %d on host %q", h.PID, h.Host)
	if h.Container != "" {
		// Anybody may have written it.
		id := strings.Trim(strconv.QuoteToASCII(h.Container[:min(len(h.Container), 12)]), `"`)
		who = "container " + id
		if h.Host != id { // which is what a container's host is called if nobody says otherwise
			who += fmt.Sprintf(" on host %q", h.Host)
		}
	}
	return fmt.Sprintf("%s, heard of %s ago,", who, e.Age.Round(time.Second))
}

// Self is this process as a holder.
func Self() Holder {
	host, _ := os.Hostname()
	return Holder{Host: host, Machine: word("/etc/machine-id"), Boot: proc.BootID(),
		Container: container("/proc/self/cgroup", "/proc/self/mountinfo"), PID: os.Getpid()}
}

func word(file string) string {
	text, _ := os.ReadFile(file)
	return strings.TrimSpace(string(text))
}

// containerID is how engines name a container's directories and groups. The id of a pod is not one: its containers
// share it.
var containerID = regexp.MustCompile(`(?:docker[-/]|containers/|libpod-|cri-containerd-|crio-)([0-9a-f]{64})`)

func container(files ...string) string {
	for _, file := range files {
		text, _ := os.ReadFile(file)
		if found := containerID.FindSubmatch(text); found != nil {
			return string(found[1])
		}
	}
	return ""
}

// size is what a record is filled up to, so that it is always written over in place, in one piece.
const size = 1024

func (h Holder) encode() ([]byte, error) {
	text, err := json.Marshal(h)
	if err != nil {
		return nil, err
	}
	if len(text) >= size {
		return nil, fmt.Errorf("cannot write down who supervises: its names are too long")
	}
	record := make([]byte, size)
	for i := range record {
		record[i] = ' '
	}
	copy(record, text)
	record[size-1] = '\n'
	return record, nil
}

// decode reads a record; of one that nobody can read only the time is known at which it was written.
func decode(text []byte, written time.Time) Holder {
	var h Holder
	if json.Unmarshal(text, &h) != nil || h.Claim == "" {
		return Holder{Beat: written}
	}
	return h
}

// fresh says whether a holder may still be there. A heartbeat from the future is as far away as one from the past:
// otherwise a clock that was wrong once would keep the lease for ever.
func (h Holder) fresh(now time.Time) bool {
	return !h.Beat.IsZero() && now.Sub(h.Beat).Abs() < Stale
}
