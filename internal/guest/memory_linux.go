package guest

import (
	"os"
	"runtime/debug"
	"strconv"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"
)

// trim gives back the memory that an idle guest does not need: its garbage, and
// the pages of its own program, which the kernel maps in by the dozen and finds
// again in its cache when they are next touched.
func trim() {
	debug.FreeOSMemory()
	maps, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		return
	}
	for line := range strings.Lines(string(maps)) {
		if start, length, ok := programPages(line); ok {
			unix.Syscall(unix.SYS_MADVISE, start, length, unix.MADV_DONTNEED)
		}
	}
}

// programPages reads a line of /proc/self/maps and says where the pages are, if
// they belong to a file and cannot have been written.
func programPages(line string) (start, length uintptr, ok bool) {
	fields := strings.Fields(line)
	if len(fields) < 6 || fields[1][1] == 'w' || fields[4] == "0" {
		return 0, 0, false
	}
	from, to, _ := strings.Cut(fields[0], "-")
	low, err1 := strconv.ParseUint(from, 16, int(unsafe.Sizeof(start))*8)
	high, err2 := strconv.ParseUint(to, 16, int(unsafe.Sizeof(start))*8)
	return uintptr(low), uintptr(high - low), err1 == nil && err2 == nil
}
