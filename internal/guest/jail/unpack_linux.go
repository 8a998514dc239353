package jail

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"golang.org/x/sys/unix"

	"hermes.example/hermes/internal/image/unpack"
)

// Unpacked is what Unpack prints.
type Unpacked struct {
	Result  unpack.Result
	Refused *unpack.Refusal `json:",omitempty"`
	Error   string          `json:",omitempty"`
}

// Unpack makes the files of the tar on its standard input in dir, as root of a user
// namespace, and prints an Unpacked. Its creator maps the ids and then closes
// descriptor 3, which is what it waits for.
func Unpack(dir, options string) error {
	var o unpack.Options
	if err := json.Unmarshal([]byte(options), &o); err != nil {
		return err
	}
	if err := awaitIDs(); err != nil {
		return err
	}
	if err := confine(dir); err != nil {
		return err
	}
	res, err := unpack.Extract(context.Background(), dir, os.Stdin, o)
	if err == nil {
		_, err = io.Copy(io.Discard, os.Stdin) // whoever writes must not find the pipe closed
	}
	report := Unpacked{Result: res}
	if err != nil && !errors.As(err, &report.Refused) {
		report.Error = err.Error()
	}
	return json.NewEncoder(os.Stdout).Encode(report)
}

// awaitIDs waits until the creator has mapped our ids, and takes root's.
func awaitIDs() error {
	if _, err := io.Copy(io.Discard, os.NewFile(setupFD, "ready")); err != nil {
		return err
	}
	return becomeRoot(false)
}

// confine lets this process write below dir only: an archive is hostile until it
// is unpacked. Where the kernel has no Landlock the unpacker's own care is alone.
func confine(dir string) error {
	ruleset, _, err := newRuleset([]string{dir})
	if ruleset < 0 {
		return nil //nolint:nilerr // said above
	}
	defer unix.Close(ruleset)
	if err == nil {
		err = allThreads(unix.SYS_PRCTL, unix.PR_SET_NO_NEW_PRIVS, 1)
	}
	if err == nil {
		err = allThreads(unix.SYS_LANDLOCK_RESTRICT_SELF, uintptr(ruleset), 0)
	}
	if err != nil {
		return fmt.Errorf("cannot confine the unpacking: %w", err)
	}
	return nil
}
