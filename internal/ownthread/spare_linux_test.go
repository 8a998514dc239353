package ownthread

import (
	"os"
	"testing"
)

func TestSpareThreadsStay(t *testing.T) {
	const n = 30
	Spare(n)
	tasks, err := os.ReadDir("/proc/self/task")
	if err != nil || len(tasks) < n {
		t.Errorf("there are %d threads, %v", len(tasks), err)
	}
}
