package cli

import (
	"context"
	"strings"

	"hermes.example/hermes/sandbox"
)

// files calls f with the files of the target's sandbox, which is taken as it is, and made when there is none.
func (t *target) files(ctx context.Context, a *app, what string, f func(sandbox.Files) error) error {
	boxes, err := t.open(a)
	if err != nil {
		return err
	}
	defer a.close(boxes)
	box, err := boxes.Obtain(ctx, t.task, nil)
	if err != nil {
		return cannot(what, err)
	}
	return cannot(what, f(box.Files("")))
}

// insidePath is a path of the sandbox as a person writes it. One that does not begin with a slash lies where
// commands run, as the guest knows.
func insidePath(p string) string {
	if p = strings.TrimPrefix(p, ":"); p == "" {
		return "."
	}
	return p
}
