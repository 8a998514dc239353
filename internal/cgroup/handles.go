package cgroup

import "os"

// Handles are the descriptors that the guest inherits. They are close-on-exec and
// must stay so in the guest: V2Cmd opens the way to the host's whole cgroup tree.
type Handles struct {
	// V1Tasks holds cmd/tasks of each v1 hierarchy in use, open for writing. The
	// guest's spawner thread writes "0" to each once, and all that it forks from
	// then on is born there. It must not be the guest's first thread: the kernel
	// charges and kills a process where its first thread is.
	V1Tasks []*os.File
	// V2Cmd is the directory cmd in v2, in which the guest makes a group per
	// command, bears the command into it (SysProcAttr.CgroupFD) and kills it as a
	// whole (cgroup.kill); nil without v2.
	V2Cmd *os.File
	// OOMEvents is for ParseOOM: a read at offset 0 gives fresh content; nil when
	// memory is not limited.
	OOMEvents *os.File
}

// Close closes all of them; the host does so once the guest has them.
func (h Handles) Close() {
	for _, f := range h.V1Tasks {
		f.Close()
	}
	if h.V2Cmd != nil {
		h.V2Cmd.Close()
	}
	if h.OOMEvents != nil {
		h.OOMEvents.Close()
	}
}
