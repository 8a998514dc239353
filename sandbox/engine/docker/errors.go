package docker

import (
	"errors"
	"fmt"
	"strings"

	"github.com/moby/moby/client"
)

// ErrDaemon means that the daemon did not do what it was asked, for a reason of its
// own. Nothing is known of the sandbox then.
var ErrDaemon = errors.New("the daemon does not answer")

// explain says what an error of the daemon's means to a person.
func explain(err error) error {
	if client.IsErrConnectionFailed(err) {
		return fmt.Errorf("%w: %w; start it, and try again", ErrDaemon, err)
	}
	if strings.Contains(err.Error(), "setting rlimit") {
		// Podman asks for a million of each by itself, whoever it runs as.
		return fmt.Errorf("%w; the daemon may not grant as many open files or processes as it asks for: name fewer in docker_extra_args, as in --ulimit nofile=1024:1024 and --ulimit nproc=1024:1024", &daemonError{err})
	}
	return &daemonError{err}
}

// daemonError is what the daemon answered, without the words around it.
type daemonError struct{ err error }

func (e *daemonError) Error() string {
	return strings.ReplaceAll(strings.TrimPrefix(e.err.Error(), "Error response from daemon: "), "\n", " ")
}

func (e *daemonError) Unwrap() error { return e.err }
