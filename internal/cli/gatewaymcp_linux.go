package cli

import "hermes.example/hermes/internal/gateway/mcp"

// gatewayMCP is the door for models of a profile whose gateway is served here. It shares what the gateway has.
type gatewayMCP struct {
	sandboxes *profileSandboxes
	addons    *profileAddons
}

// gatewayTask is the task that models work in which come through a gateway and name none.
const gatewayTask = "default"

func (g *gatewayMCP) open() (*mcp.Door, error) {
	boxes, err := g.sandboxes.open()
	if err != nil {
		return nil, err
	}
	use, err := g.addons.open()
	if err != nil {
		return nil, err
	}
	lookup, err := g.sandboxes.app.settled(g.sandboxes.agent)
	if err != nil {
		return nil, err
	}
	return newMCPDoor(g.sandboxes.agent, mcp.Options{Sandboxes: boxes, Addons: use, Task: gatewayTask, AnyTask: true, Log: g.sandboxes.log}, lookup)
}
