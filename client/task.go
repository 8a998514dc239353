package client

import (
	"context"
	"net/http"
	"net/url"
	"strconv"
)

// Task is the sandbox of a task. Whether there is one shows when it is used; most of what needs one makes it, as the
// profile's configuration wants it.
type Task struct {
	client *Client
	name   string
}

// Task returns that of a name; empty means "default".
func (c *Client) Task(name string) *Task {
	if name == "" {
		name = "default"
	}
	return &Task{c, name}
}

// route is the path of a part of the sandbox.
func (t *Task) route(parts ...string) []string {
	return append([]string{"v1", "sandboxes", t.name}, parts...)
}

// Health says how the gateway is, which needs no key.
func (c *Client) Health(ctx context.Context) (Health, error) {
	var h Health
	err := c.ask(ctx, call{method: http.MethodGet, path: []string{"health"}}, &h)
	return h, err
}

// Status says more of the gateway.
func (c *Client) Status(ctx context.Context) (GatewayStatus, error) {
	var s GatewayStatus
	err := c.ask(ctx, call{method: http.MethodGet, path: []string{"v1", "status"}}, &s)
	return s, err
}

// Restart asks the gateway to end and be started again.
func (c *Client) Restart(ctx context.Context) error {
	return c.ask(ctx, call{method: http.MethodPost, path: []string{"v1", "restart"}}, &Restarting{})
}

// Sandboxes lists those of the profile.
func (c *Client) Sandboxes(ctx context.Context) ([]Sandbox, error) {
	var l SandboxList
	err := c.ask(ctx, call{method: http.MethodGet, path: []string{"v1", "sandboxes"}}, &l)
	return l.Sandboxes, err
}

// Ensure makes the sandbox if it is not there, and starts it if it does not run. What the spec leaves out is as the
// profile's configuration wants it.
func (t *Task) Ensure(ctx context.Context, spec SandboxSpec) (Sandbox, error) {
	var s Sandbox
	err := t.client.ask(ctx, call{method: http.MethodPut, path: t.route(), json: spec}, &s)
	return s, err
}

// Inspect tells all that is known of the sandbox, with what is enforced on it.
func (t *Task) Inspect(ctx context.Context) (SandboxSheet, error) {
	var s SandboxSheet
	err := t.client.ask(ctx, call{method: http.MethodGet, path: t.route()}, &s)
	return s, err
}

// Remove ends the sandbox, in use or not; with files also what it kept.
func (t *Task) Remove(ctx context.Context, files bool) (Removed, error) {
	var r Removed
	err := t.client.ask(ctx, call{method: http.MethodDelete, path: t.route(), query: url.Values{"files": {strconv.FormatBool(files)}}}, &r)
	return r, err
}

// Fork copies the idle sandbox to other tasks: its files and its sessions, not its processes.
func (t *Task) Fork(ctx context.Context, tasks ...string) (Forked, error) {
	var f Forked
	err := t.client.ask(ctx, call{method: http.MethodPost, path: t.route("fork"), json: Fork{Tasks: tasks}}, &f)
	return f, err
}
