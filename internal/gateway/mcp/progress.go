package mcp

import (
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"hermes.example/hermes/internal/addon"
	"hermes.example/hermes/internal/toolbox"
)

// tell tells the client how far its call is, if it wants to know. What is told grows, as the protocol asks.
func (c call) tell(progress, total float64, message string) {
	token := c.request.Params.GetProgressToken()
	if token == nil {
		return
	}
	// A client that cannot be told is gone, which its call notices by itself.
	c.request.Session.NotifyProgress(c.ctx, &mcp.ProgressNotificationParams{ProgressToken: token, Progress: progress, Total: total, Message: message})
}

// commandProgress tells of a command that runs: its seconds, and its last line.
func (c call) commandProgress() func(toolbox.Progress) {
	if c.request.Params.GetProgressToken() == nil {
		return nil
	}
	return func(p toolbox.Progress) {
		message := p.Line
		if message == "" {
			message = fmt.Sprintf("running, %d bytes of output", p.Bytes)
		}
		c.tell(p.Elapsed.Seconds(), 0, message)
	}
}

// installProgress tells of a feature that is installed: the steps so far, and the one that is done now.
func (c call) installProgress() func(addon.Progress) {
	if c.request.Params.GetProgressToken() == nil {
		return nil
	}
	steps := 0.0
	return func(p addon.Progress) {
		steps++
		message := p.Feature + ": " + string(p.Phase)
		if p.Total > 0 {
			message += fmt.Sprintf(", %d of %d packages", p.Done, p.Total)
		}
		c.tell(steps, 0, message)
	}
}
