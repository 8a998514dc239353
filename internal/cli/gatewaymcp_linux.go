package cli

import "hermes.example/hermes/internal/gateway/mcp"

// gatewayMCP is the door for models of a profile whose gateway is served here. It shares the gateway's sandboxes and add-ons.
type gatewayMCP struct {
	sandboxes *gatewaySandboxes
	addons    *gatewayAddons
}

// gatewayTask is the task that models work in which come through a gateway.
const gatewayTask = "default"

func (g *gatewayMCP) open() (*mcp.Door, error) {
	a, agent, log := g.sandboxes.app, g.sandboxes.agent, g.sandboxes.log
	boxes, err := g.sandboxes.open()
	if err != nil {
		return nil, err
	}
	lookup, err := a.settled(agent)
	if err != nil {
		return nil, err
	}
	addons, err := g.addons.open()
	if err != nil {
		return nil, err
	}
	return newMCPDoor(agent, boxes, addons, gatewayTask, lookup, log)
}
