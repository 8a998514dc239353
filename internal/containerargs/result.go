package containerargs

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"path"
	"slices"

	"hermes.example/hermes/sandbox"
)

// Result is what the arguments say of a sandbox. Empty fields say nothing; a limit
// that is negative says that there shall be none.
type Result struct {
	Cwd     string
	User    string
	Env     Env
	Mounts  []sandbox.Mount // links in their sources are not followed yet
	Limits  sandbox.Limits
	Network sandbox.Network
	// Container is in its normal form, and nil if nothing is said of it.
	Container *sandbox.Container
}

// Apply puts what was said in the place of what a spec has.
func (r Result) Apply(spec *sandbox.Spec) {
	replace(&spec.Cwd, r.Cwd)
	replace(&spec.User, r.User)
	replace(&spec.Network, r.Network)
	replace(&spec.Limits.Memory, r.Limits.Memory)
	replace(&spec.Limits.CPUs, r.Limits.CPUs)
	replace(&spec.Limits.Pids, r.Limits.Pids)
	replace(&spec.Limits.SharedMemory, r.Limits.SharedMemory)
	replace(&spec.Limits.Disk, r.Limits.Disk)
	if len(r.Env) > 0 {
		env := make(map[string]string)
		maps.Copy(env, spec.Env)
		maps.Copy(env, r.Env)
		spec.Env = env
	}
	if len(r.Mounts) > 0 {
		spec.Mounts = slices.Concat(slices.DeleteFunc(slices.Clone(spec.Mounts), func(m sandbox.Mount) bool {
			return slices.ContainsFunc(r.Mounts, func(n sandbox.Mount) bool { return path.Clean(n.Target) == path.Clean(m.Target) })
		}), r.Mounts)
	}
	if r.Container != nil {
		spec.Container = joined(spec.Container, r.Container)
	}
}

func replace[T comparable](old *T, said T) {
	var nothing T
	if said != nothing {
		*old = said
	}
}

// Targets are the places at which something is mounted.
func (r Result) Targets() map[string]bool {
	at := make(map[string]bool)
	for _, m := range r.Mounts {
		at[path.Clean(m.Target)] = true
	}
	if r.Container != nil {
		for _, v := range r.Container.Volumes {
			at[path.Clean(v.Target)] = true
		}
		for _, t := range r.Container.Tmpfs {
			at[path.Clean(t.Target)] = true
		}
	}
	return at
}

// joined is what is said in over, and in under where over says nothing. It shares
// nothing with either.
func joined(under, over *sandbox.Container) *sandbox.Container {
	var all *sandbox.Container
	for _, c := range []*sandbox.Container{under, over} {
		// What is not said is not in the JSON form, and so leaves what is there.
		data, err := json.Marshal(c)
		if err == nil {
			err = json.Unmarshal(data, &all)
		}
		if err != nil {
			panic("containerargs: a container always has a JSON form: " + err.Error())
		}
	}
	return all
}

// CheckNetwork refuses a network that the setting docker_network forbids.
func (r Result) CheckNetwork(allowed bool) error {
	if allowed || r.Network == "" || r.Network == sandbox.NetworkNone {
		return nil
	}
	asked := string(r.Network)
	if r.Container != nil && r.Container.Network != "" {
		asked = r.Container.Network
	}
	return fmt.Errorf("cannot use docker_network: false together with --network %s in %s: one forbids what the other asks for; take one of them out", asked, Setting)
}

// Env are variables. Their values may be secrets, and show only to who asks for them
// by name.
type Env map[string]string

// String is the names alone.
func (e Env) String() string { return fmt.Sprint(slices.Sorted(maps.Keys(e))) }

// GoString is the names alone.
func (e Env) GoString() string { return e.String() }

// LogValue is the names alone.
func (e Env) LogValue() slog.Value { return slog.StringValue(e.String()) }

// MarshalJSON is the names alone.
func (e Env) MarshalJSON() ([]byte, error) { return json.Marshal(slices.Sorted(maps.Keys(e))) }
