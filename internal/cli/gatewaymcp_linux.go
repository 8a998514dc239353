package cli

import (
	"sync"

	"hermes.example/hermes/internal/configured"
	"hermes.example/hermes/internal/gateway/mcp"
)

// gatewayMCP is the door for models of a profile whose gateway is served here. It shares the gateway's sandboxes.
type gatewayMCP struct {
	sandboxes *gatewaySandboxes

	mu     sync.Mutex
	addons *configured.Addons
}

// gatewayTask is the task that models work in which come through a gateway.
const gatewayTask = "default"

func (g *gatewayMCP) open() (*mcp.Door, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	a, agent, log := g.sandboxes.app, g.sandboxes.agent, g.sandboxes.log
	boxes, err := g.sandboxes.open()
	if err != nil {
		return nil, err
	}
	lookup, err := a.settled(agent)
	if err != nil {
		return nil, err
	}
	if g.addons == nil {
		if g.addons, err = a.mcpAddons(agent, lookup, log); err != nil {
			return nil, err
		}
	}
	return newMCPDoor(agent, boxes, g.addons, gatewayTask, lookup, log)
}

func (g *gatewayMCP) close() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.addons != nil {
		g.addons.Close()
	}
}
