package cli

import (
	"slices"

	"hermes.example/hermes/internal/config"
	"hermes.example/hermes/internal/profile"
)

// suggestion is a command that is worth typing next, and what for.
type suggestion struct {
	Command string `json:"command"`
	For     string `json:"for"`
}

// suggestions is how many fit into the head of who reads them.
const suggestions = 3

// next is what to do now: what is broken first, then what was never tried, then what always helps.
func (o overview) next() []suggestion {
	var all []suggestion
	add := func(when bool, command, what string) {
		if when {
			all = append(all, suggestion{command, what})
		}
	}
	if o.Problem != "" {
		add(true, "hermes config path", "print where the configuration is, to mend it")
	}
	for _, g := range o.Agents {
		add(g.Failing, profileFlag(g.Profile)+" gateway logs", "see why the gateway of "+g.Profile+" does not run")
	}
	for _, s := range o.Services {
		add(s.Failing, "hermes service logs "+s.Name, "see why it does not run")
	}
	add(o.Engine.Problem != "", "hermes doctor", "see what keeps sandboxes from being made, and what mends it")
	add(o.idle(), "hermes gateway start", "let the gateway run, now and after every restart")
	usable := o.Engine.Name != "" && o.Engine.Problem == ""
	running := o.running()
	add(usable && running > 0, "hermes sandbox ls", "see the sandboxes, and who uses them")
	add(usable && running == 0 && o.Engine.Name == config.DefaultEngine, "hermes run --here -- ls -la", "run a command on this directory, in a sandbox that is gone afterwards")
	add(usable, "hermes sandbox shell --task try", "open a shell in a sandbox that stays")
	add(o.Addons.Problem == "" && len(o.Addons.Installed) == 0, "hermes addon ls", "see which backends can be installed")
	add(o.Engine.Problem == "", "hermes doctor", "see what works on this machine, and what to mend")
	add(true, "hermes --help", "see all commands")
	add(true, "hermes version", "see which build this is")
	return all[:suggestions]
}

// idle says that somebody would keep gateways, and that nobody has asked for one.
func (o overview) idle() bool {
	return len(o.Agents) > 0 && o.Agents[0].Supervised && !slices.ContainsFunc(o.Agents, func(g agentState) bool { return g.Up || g.Failing })
}

func (o overview) running() (n int) {
	for _, count := range o.Sandboxes {
		n += count.Running
	}
	return n
}

func profileFlag(name string) string {
	if name == profile.Default {
		return "hermes"
	}
	return "hermes -p " + name
}
