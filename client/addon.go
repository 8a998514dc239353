package client

import (
	"context"
	"encoding/json"
	"net/http"
)

// Addons lists the features that there are, and which of them are here.
func (c *Client) Addons(ctx context.Context) (AddonList, error) {
	var l AddonList
	err := c.ask(ctx, call{method: http.MethodGet, path: []string{"v1", "addons"}}, &l)
	return l, err
}

// EnsureAddon installs a feature that is not there. It tells how far that is, where progress is not nil.
func (c *Client) EnsureAddon(ctx context.Context, feature string, progress func(AddonProgress)) (AddonEnsured, error) {
	var done AddonEnsured
	// What was cut off is asked for again: a feature that is there by then is not installed a second time.
	s := &stream{client: c, call: call{method: http.MethodPost, path: []string{"v1", "addons", feature, "ensure"}}}
	return done, s.each(ctx, func(e event) (bool, error) {
		switch e.name {
		case EventProgress:
			var p AddonProgress
			if err := decode(e, &p); err != nil {
				return false, err
			}
			if progress != nil {
				progress(p)
			}
		case EventDone:
			return true, decode(e, &done)
		}
		return false, nil
	})
}

// Tools are what a feature that is there can be asked to do.
func (c *Client) Tools(ctx context.Context, feature string) (ToolList, error) {
	var l ToolList
	err := c.ask(ctx, call{method: http.MethodGet, path: []string{"v1", "addons", feature, "tools"}}, &l)
	return l, err
}

// Call calls a tool of a feature, which is installed if need be. A call is never repeated by itself: whether one that
// was cut off had an effect is not known.
func (c *Client) Call(ctx context.Context, feature, tool string, arguments any) (ToolResult, error) {
	if arguments == nil {
		arguments = json.RawMessage("{}")
	}
	var r ToolResult
	err := c.ask(ctx, call{method: http.MethodPost, path: []string{"v1", "addons", feature, "tools", tool}, json: arguments}, &r)
	return r, err
}
