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
	return errors.New(strings.TrimPrefix(err.Error(), "Error response from daemon: "))
}
