package cli

import (
	"context"
	"errors"
	"fmt"

	"hermes.example/hermes/sandbox"
)

// removeOptions say what is removed, and how that is told. rm and discard share them.
type removeOptions struct {
	target
	files, json bool
}

// removal is what is told to programs.
type removal struct {
	Removed []string `json:"removed"`
	Files   bool     `json:"files"`
}

// each removes the sandboxes of tasks. One that cannot be removed does not keep the others.
func (o *removeOptions) each(ctx context.Context, a *app, tasks []string, remove func(*sandbox.Manager, sandbox.Identity) error) error {
	boxes, err := o.open(a)
	if err != nil {
		return err
	}
	defer a.close(boxes)
	report := removal{Removed: []string{}, Files: o.files}
	var failures []error
	for _, task := range tasks {
		if err := remove(boxes.Manager(), boxes.Identity(task)); err != nil {
			failures = append(failures, err)
			continue
		}
		report.Removed = append(report.Removed, task)
		if !o.json {
			fmt.Fprintln(a.stdout, "removed", printable(task))
		}
	}
	if o.json {
		failures = append(failures, writeJSON(a.stdout, report))
	}
	return errors.Join(failures...)
}
