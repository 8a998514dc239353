package profile

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// The log of what was done with the profiles' gateways at each boot. Scripts wait for its lines.
const (
	logs      = "logs"
	auditLog  = "container-boot.log"
	auditOld  = auditLog + ".1"
	auditSize = 256 << 10
)

// The ways in which a gateway's last life can have ended.
const (
	ExitClean   = "clean"   // it took its traces away
	ExitUnclean = "unclean" // it could not
	ExitUnknown = "unknown" // it never ran here, or nobody can tell
)

// Audit is one line of the log: what became of a profile's gateway, and of what that followed.
type Audit struct {
	Profile string
	Prior   string // the state that decided, or ""
	Started bool   // or else only registered
	Exit    string // how its last life ended
}

// Line is the entry as it is written. A state comes from a file that anybody wrote: only words are shown as they are.
func (a Audit) Line(at time.Time) string {
	prior, action := a.Prior, "registered"
	if prior == "" {
		prior = "None"
	} else if !proper.MatchString(prior) {
		prior = strconv.QuoteToASCII(prior[:min(len(prior), 64)])
	}
	if a.Started {
		action = "started"
	}
	return fmt.Sprintf("%s profile=%s prior_state=%s action=%s prior_exit=%s\n", at.UTC().Format(time.RFC3339), a.Profile, prior, action, a.Exit)
}

// Audit appends to the log. A log that has grown large becomes the old one first; if it cannot, it grows on.
func (h *Home) Audit(a Audit) error {
	err := h.below("", func(root int) error {
		return enter(root, logs, 0o755, func(dir int) error {
			fd, err := unix.Openat(dir, auditLog, appending, 0o644)
			if err != nil {
				return noLink(err)
			}
			defer func() { unix.Close(fd) }()
			var st unix.Stat_t
			if err := unix.Fstat(fd, &st); err != nil {
				return err
			}
			if st.Mode&unix.S_IFMT != unix.S_IFREG {
				return errors.New("it is not a file")
			}
			if st.Size >= auditSize && unix.Renameat(dir, auditLog, dir, auditOld) == nil {
				unix.Close(fd)
				if fd, err = unix.Openat(dir, auditLog, appending, 0o644); err != nil {
					return noLink(err)
				}
			}
			_, err = unix.Write(fd, []byte(a.Line(h.now())))
			return err
		})
	})
	if err != nil {
		return fmt.Errorf("cannot write %s: %w", filepath.Join(h.Root, logs, auditLog), reason(err))
	}
	return nil
}

const appending = os.O_WRONLY | unix.O_CREAT | unix.O_APPEND | unix.O_NOFOLLOW | unix.O_NONBLOCK | unix.O_CLOEXEC
