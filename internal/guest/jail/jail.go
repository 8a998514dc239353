// Package jail is the inner half of the native engine: it turns a process that
// was started in new namespaces into one that sees nothing but its sandbox. It is
// that of the local engine too, which has no namespaces, and then only gives up
// what can be given up without them.
//
// The outer half describes the sandbox in a Config and passes descriptors; the
// inner half, in cmd/hermes-guest, mounts, pivots and gives up privileges. It
// must never fall back to something weaker on its own: what cannot be done is an
// error or a fact in the Report, and the outer half decides.
package jail

import (
	"encoding/json"
	"fmt"
	"time"

	"hermes.example/hermes/internal/wire"
)

// Config describes a sandbox to its inner half.
type Config struct {
	Hostname string
	// Descriptors names the descriptors that come with the configuration.
	Descriptors []string
	// Folders, Links and Files are made in the new root before anything is
	// mounted in it.
	Folders []string
	Links   []Link
	Files   []File
	Scratch []Scratch
	Binds   []Bind
	// Image is what the root is made of, or nil for one that is empty at first.
	Image *Image
	// UID and GID are who commands run as, inside.
	UID, GID int
	// SetGroups says that the id map allows supplementary groups to be set.
	SetGroups bool
	// Loopback brings up the loopback device of a network of its own.
	Loopback bool

	Env       []string
	Cwd       string
	Processes uint64 // RLIMIT_NPROC of commands, 0 for none
	Ephemeral bool
	Successor bool // it will be given the sessions of an earlier guest
	Build     string

	// Beside makes a sandbox without namespaces, beside everything else of the
	// machine. What is about a root, a host name or a network does not apply.
	Beside *Beside
}

// Beside is what a sandbox without namespaces needs to know besides.
type Beside struct {
	// Name marks the commands of this sandbox in their environment.
	Name string
	// Scratch is a directory that ends with the sandbox; may be empty.
	Scratch string
}

// Image is a root made of layers.
type Image struct {
	// Layers is the directory of all layers, Order the names of those of the image
	// in it, the topmost first.
	Layers Bind
	Order  []string
	// Changes is the directory for what the sandbox writes.
	Changes Bind
	// Frozen are sets of files that were written on the image before, the newest
	// first. Each has a RootPart, and one of each of the Parts.
	Frozen []Bind
	Parts  []Part
}

// RootPart is the name of the root's own files in a set of frozen ones.
const RootPart = "root"

// Part is a directory of a sandbox that has frozen files of its own.
type Part struct{ Name, Target string }

// Link is a symbolic link in the new root.
type Link struct{ Path, Target string }

// File is a small file in the new root.
type File struct {
	Path    string
	Content []byte
}

// Scratch is an empty file system in memory.
type Scratch struct {
	Path string
	Size int64
	Mode uint32
	// NoExec forbids running programs from it.
	NoExec bool
	// Owned gives it to the user that commands run as, instead of root.
	Owned bool
}

// Bind makes a file or directory of the outside visible inside.
type Bind struct {
	Source, Target string
	// Descriptor names a detached mount made by the outer half, instead of Source.
	Descriptor string
	Writable   bool
	// Device is a device node: it alone may be used as one.
	Device bool
	// Owned gives the directory itself to the user that commands run as.
	Owned bool
}

// Names of descriptors.
const (
	ListenerFD = "listener"
	SpoolFD    = "spool"
	CommandsFD = "commands"
	OOMFD      = "oom"
	TasksFD    = "tasks" // followed by a number
	MountFD    = "mount" // followed by a number
)

// Report is what the inner half read back about itself, after the fact.
type Report struct {
	Error string `json:",omitempty"`
	// Capabilities, NoNewPrivileges and Seccomp are of the thread that all
	// commands are forked from, as the kernel shows them.
	Capabilities    []string
	NoNewPrivileges bool
	Seccomp         bool
	SeccompDigest   string
	LandlockABI     int
	LandlockError   string `json:",omitempty"`
	Shell           string
	UIDMap, GIDMap  string
	// Steps say where the time of the setup went.
	Steps []Step
	// CopyReason says why an image was copied instead of overlaid.
	CopyReason string `json:",omitempty"`
	// CommandCgroups says that each command has a cgroup of its own.
	CommandCgroups bool
}

// Step is a part of the setup and how long it took.
type Step struct {
	Name string
	Took time.Duration
}

// The frames of the setup conversation, which is over before the guest serves.
const (
	frameConfig wire.Type = 1
	frameReport wire.Type = 2
	frameKeep   wire.Type = 3
)

func send(w *wire.Writer, t wire.Type, m any) error {
	data, err := json.Marshal(m)
	if err != nil {
		return err
	}
	// A configuration can be larger than a frame: an environment may have
	// megabytes. It travels in pieces, the last one shorter than a full one.
	for {
		n := min(len(data), wire.MaxPayload)
		if err := w.Write(t, data[:n]); err != nil {
			return err
		}
		data = data[n:]
		if n < wire.MaxPayload {
			return nil
		}
	}
}

const maxMessage = 64 << 20

func receive(r *wire.Reader, t wire.Type, m any) error {
	var data []byte
	for {
		frame, err := r.Next()
		if err != nil {
			return err
		}
		if frame.Type != t {
			return fmt.Errorf("setup frame %d where %d was expected", frame.Type, t)
		}
		data = append(data, frame.Payload...)
		if len(data) > maxMessage {
			return fmt.Errorf("setup message larger than %d bytes", maxMessage)
		}
		if len(frame.Payload) < wire.MaxPayload {
			return json.Unmarshal(data, m)
		}
	}
}
