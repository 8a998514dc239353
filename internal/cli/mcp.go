package cli

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"hermes.example/hermes/internal/config"
	"hermes.example/hermes/internal/configured"
	"hermes.example/hermes/internal/gateway"
	"hermes.example/hermes/internal/gateway/mcp"
	"hermes.example/hermes/sandbox"
)

// mcpOptions are those of "hermes mcp".
type mcpOptions struct {
	target
	here bool
	http string
	cmd  *cobra.Command
}

func newMCP(a *app) *cobra.Command {
	var o mcpOptions
	cmd := &cobra.Command{
		Use:                   "mcp [FLAG…]",
		DisableFlagsInUseLine: true,
		Short:                 "Give an MCP client a sandboxed terminal, files and the web",
		Long: "Serves the Model Context Protocol on standard input and output, which is how an agent's program starts it: one line of\n" +
			"its configuration gives the agent a terminal, background processes and files in a sandbox, the web, and the tools of\n" +
			"the add-ons that are installed. With --http clients come over the network instead (streamable HTTP, at /mcp), and show\n" +
			"the key of the profile's gateway (API_SERVER_KEY). The sandbox is that of the task, and stays when the client goes.",
		Example: "hermes mcp\n" +
			"hermes mcp --here                          # the client's directory as the workspace\n" +
			"hermes -p coder mcp --task review --engine docker\n" +
			"hermes mcp --http 127.0.0.1:8700           # with API_SERVER_KEY set",
		Args:        noArguments,
		Annotations: map[string]string{kindAnnotation: serves},
		RunE:        func(cmd *cobra.Command, _ []string) error { return runMCP(cmd.Context(), a, &o) },
	}
	o.cmd = cmd
	o.addTask(a, cmd)
	o.addEngine(cmd)
	cmd.Flags().BoolVar(&o.here, "here", false, "mount the current directory, writable, as "+sandbox.Workspace+"; its task is its own unless one is named")
	cmd.Flags().StringVar(&o.http, "http", "", "serve streamable HTTP at `ADDRESS`, like 127.0.0.1:8700, instead of standard input")
	return cmd
}

func runMCP(ctx context.Context, a *app, o *mcpOptions) error {
	g, err := a.agent()
	if err == nil {
		err = g.mustExist()
	}
	if err != nil {
		return settings(err)
	}
	door, release, err := a.mcpDoor(g, o)
	if err != nil {
		return settings(err)
	}
	defer release()
	a.drains.Store(true)
	if o.http != "" {
		return a.serveMCP(ctx, g, o.http, mcp.Lazily(func() (*mcp.Door, error) { return door, nil }))
	}
	err = door.ServeLines(ctx, a.stdin, a.stdout)
	ended, cancel := context.WithCancel(context.Background())
	cancel() // nobody is left to wait for a call
	door.Shutdown(ended)
	return err
}

// mcpDoor makes the door of a profile, with the sandbox that the options mean.
func (a *app) mcpDoor(g agent, o *mcpOptions) (door *mcp.Door, release func(), err error) {
	lookup, err := a.settled(g)
	if err != nil {
		return nil, nil, err
	}
	options, err := o.options(a)
	if err != nil {
		return nil, nil, err
	}
	log := a.warner()
	options.Lookup, options.Home, options.Profile, options.Serves, options.Log = lookup, g.root, g.name, true, log
	if o.here {
		if options.Spec, err = o.workspace(options); err != nil {
			return nil, nil, err
		}
	}
	boxes, err := configured.OpenSandboxes(options)
	if err != nil {
		return nil, nil, unknownEngine(err)
	}
	addons := &profileAddons{app: a, agent: g, log: log}
	use, err := addons.open()
	if err == nil {
		if options.Spec != nil {
			options.Spec.Ephemeral = !boxes.KeepsFiles()
		}
		door, err = newMCPDoor(g, mcp.Options{Sandboxes: boxes, Addons: use, Task: o.task, Log: log}, lookup)
	}
	if err != nil {
		return nil, nil, errors.Join(err, boxes.Close())
	}
	return door, func() {
		addons.close()
		a.close(boxes)
	}, nil
}

// warner logs what is worth a line beside what a client is told.
func (a *app) warner() *slog.Logger {
	return slog.New(slog.NewTextHandler(a.stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
}

// newMCPDoor makes a door with what a profile's configuration says about tools.
func newMCPDoor(g agent, o mcp.Options, lookup config.Lookup) (_ *mcp.Door, err error) {
	if o.Settings, err = o.Sandboxes.Config().Tools(); err != nil {
		return nil, err
	}
	o.Home = g.dir()
	o.Secrets = func() []config.Secret {
		key, _ := lookup("API_SERVER_KEY")
		return []config.Secret{config.NewSecret(key)}
	}
	return mcp.New(o), nil
}

// workspace is the current directory as the sandbox's. Unless a task is named the directory has one of its own: two
// clients in two directories must not take the sandbox from each other.
func (o *mcpOptions) workspace(whose configured.Options) (*sandbox.Spec, error) {
	c, err := whose.Load()
	if err != nil {
		return nil, err
	}
	mounts, err := givenMounts(c, whose.Lookup, true, nil)
	if err != nil {
		return nil, err
	}
	if !o.cmd.Flags().Changed("task") {
		dir := mounts[0].Source
		sum := sha256.Sum256([]byte(dir))
		o.task = "here-" + filepath.Base(dir) + "-" + hex.EncodeToString(sum[:3])
	}
	return &sandbox.Spec{Mounts: mounts}, nil
}

// serveMCP serves a door on the network.
func (a *app) serveMCP(ctx context.Context, g agent, address string, door *mcp.Lazy) error {
	if err := a.notAsRoot("serve MCP over HTTP"); err != nil {
		return err
	}
	s, err := a.gatewaySettings(g)
	if err != nil {
		return settings(err)
	}
	if s.Host, s.Port, err = listenAddress(address); err != nil {
		return err
	}
	err = gateway.ServeMCP(ctx, s, door, a.logger(), nil)
	if isA[*gateway.ConfigError](err) {
		return settings(err)
	}
	return err
}

// allowRoot is the variable that lets root open a door to the network.
const allowRoot = "HERMES_ALLOW_ROOT_GATEWAY"

// notAsRoot refuses to root what lets others in, unless root insists: whoever comes in could do everything.
func (a *app) notAsRoot(what string) error {
	if os.Geteuid() != 0 || config.Switch(a.lookup, allowRoot) {
		return nil
	}
	return settings(fmt.Errorf("cannot %s as root: what it does must not have all rights; run it as another user, or set %s=1", what, allowRoot))
}

// gatewaySettings are what a profile's configuration says about its door.
func (a *app) gatewaySettings(g agent) (config.Gateway, error) {
	lookup, err := a.settled(g)
	if err != nil {
		return config.Gateway{}, err
	}
	c, err := config.Load(lookup)
	if err != nil {
		return config.Gateway{}, err
	}
	return c.Gateway()
}

// listenAddress is what --http names: HOST:PORT, or a port of this machine only.
func listenAddress(address string) (host string, port int, err error) {
	if !strings.Contains(address, ":") {
		address = ":" + address
	}
	host, text, err := net.SplitHostPort(address)
	if err == nil {
		var n uint64
		n, err = strconv.ParseUint(text, 10, 16)
		port = int(n)
	}
	if err != nil {
		return "", 0, usagef("cannot serve at --http %q: give an address and a port, like 127.0.0.1:8700", address)
	}
	if host == "" {
		host = config.LoopbackHost
	}
	return host, port, nil
}
