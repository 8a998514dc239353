package cli

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"hermes.example/hermes/internal/config"
	"hermes.example/hermes/internal/image"
	"hermes.example/hermes/sandbox"
)

// specOptions say what a sandbox is like.
type specOptions struct {
	here, ephemeral    bool
	mounts, require    []string
	image              string
	user, network      string
	memory, cpus, pids string
	cmd                *cobra.Command
}

// specFlags are those that make a difference to the sandbox itself.
var specFlags = []string{"image", "here", "mount", "user", "memory", "cpus", "pids", "network", "require", "ephemeral"}

func (s *specOptions) addFlags(cmd *cobra.Command) {
	s.cmd = cmd
	f := cmd.Flags()
	f.StringVar(&s.image, "image", "", "`NAME` of the image whose files the sandbox has, or oci:DIRECTORY or archive:FILE\n(default the host's programs, read-only)")
	f.BoolVar(&s.here, "here", false, "mount the current directory, writable, as "+sandbox.Workspace)
	f.StringArrayVar(&s.mounts, "mount", nil, "make `SOURCE:TARGET[:ro]` of the host visible; may be repeated")
	f.StringVar(&s.user, "user", "", "who commands run as inside, `UID[:GID]` (default the image's user, else 0:0)")
	f.StringVar(&s.memory, "memory", "", "`SIZE` that all commands share, like 512m, 2g or none (default 5g)")
	f.StringVar(&s.cpus, "cpus", "", "`NUMBER` of processors, like 1.5 or none (default none)")
	f.StringVar(&s.pids, "pids", "", "`NUMBER` of processes and threads, or none (default 1024)")
	f.StringVar(&s.network, "network", "", "`MODE`: none, host for the host's own, or bridge, which only containers have\n(default none; the local engine has only host)")
	f.StringSliceVar(&s.require, "require", nil, "fail unless all of the `LIST` is enforced:\n"+strings.Join(sandbox.FactNames()[:7], ",")+",\n"+strings.Join(sandbox.FactNames()[7:], ","))
	mustComplete(cmd, "network", cobra.FixedCompletions([]string{string(sandbox.NetworkNone), string(sandbox.NetworkHost), string(sandbox.NetworkBridge)}, cobra.ShellCompDirectiveNoFileComp))
	mustComplete(cmd, "require", cobra.FixedCompletions(sandbox.FactNames(), cobra.ShellCompDirectiveNoFileComp))
}

func (s *specOptions) addEphemeral(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&s.ephemeral, "ephemeral", false, "keep no files, and end the sandbox with its last user")
}

// given says whether the caller said anything about the sandbox itself.
func (s *specOptions) given() bool { return slices.ContainsFunc(specFlags, s.said) }

func (s *specOptions) said(flag string) bool {
	f := s.cmd.Flags().Lookup(flag)
	return f != nil && f.Changed
}

// spec checks the options, and makes the spec that they mean.
func (s *specOptions) spec(a *app, c config.Config) (*sandbox.Spec, error) {
	spec := &sandbox.Spec{User: s.user, Network: sandbox.Network(s.network), Ephemeral: s.ephemeral}
	if s.image != "" {
		source, err := image.Parse(s.image)
		if err != nil {
			return nil, usagef("%s", err)
		}
		spec.Image = source.String()
	}
	var err error
	if spec.Limits, err = s.limits(); err != nil {
		return nil, err
	}
	for _, name := range s.require {
		if name = strings.TrimSpace(name); !slices.Contains(sandbox.FactNames(), name) {
			return nil, usagef("cannot require %q: it is none of %s", name, strings.Join(sandbox.FactNames(), ", "))
		}
		spec.Require = append(spec.Require, name)
	}
	if spec.Mounts, err = givenMounts(c, a.lookup, s.here, s.mounts); err != nil {
		return nil, err
	}
	if err := spec.Validate(); err != nil {
		return nil, usagef("%s", cannot("make a sandbox", err))
	}
	return spec, nil
}

// choose notes what the flags say about a container.
func (s *specOptions) choose(spec *sandbox.Spec) {
	for _, part := range []string{"image", "user", "network", "cpus", "memory", "pids"} {
		if s.said(part) {
			spec.Chosen = append(spec.Chosen, part)
		}
	}
	spec.Image = s.image // as its engine calls it
}

func (s *specOptions) limits() (l sandbox.Limits, err error) {
	if s.memory != "" {
		if l.Memory, err = parseMemory(s.memory); err != nil {
			return l, err
		}
	}
	if s.cpus != "" {
		if l.CPUs, err = parseCPUs(s.cpus); err != nil {
			return l, err
		}
	}
	if s.pids != "" {
		l.Pids, err = parsePids(s.pids)
	}
	return l, err
}
