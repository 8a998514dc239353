package e2e

import (
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
)

func ownerOf(info os.FileInfo) int { return int(info.Sys().(*syscall.Stat_t).Uid) }

// oneLine says whether a text is one complaint of hermes.
func oneLine(s string) bool {
	return strings.HasPrefix(s, "hermes: cannot ") && strings.HasSuffix(s, "\n") && strings.Count(s, "\n") == 1
}

// unique is a number that no other process of this machine has in its arguments.
func (w *world) unique() string {
	return strconv.Itoa(os.Getpid()) + "00" + strconv.Itoa(int(serial.Add(1)))
}

var serial atomic.Int64

func itoa(n int) string { return strconv.Itoa(n) }

func atoi(s string) int {
	n, err := strconv.Atoi(s)
	if err != nil {
		panic(err) // the caller matched digits
	}
	return n
}
