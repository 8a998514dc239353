package config

import (
	"fmt"
	"path"
	"strings"
)

// Container is what the configuration says about sandboxes that are containers of
// an engine like Docker.
type Container struct {
	// Image is what they are made of (docker_image).
	Image string
	// Cwd is where commands start (cwd). It is empty if the setting names no place
	// of a container: then it is DefaultContainerCwd, or where the caller's
	// directory is mounted.
	Cwd string
	// CPUs, Memory and Disk bound them; zero means no limit (container_cpu,
	// container_memory and container_disk, the last two in megabytes).
	CPUs         float64
	Memory, Disk int64
	// SharedMemory is the size of /dev/shm; zero leaves it to the engine
	// (docker_shm_size).
	SharedMemory int64
	// Network is false for containers without any (docker_network).
	Network bool
	// RunAsHostUser runs commands with the caller's ids (docker_run_as_host_user).
	RunAsHostUser bool
	// SnapCompat goes without no-new-privileges, which Docker as a snap cannot have
	// (docker_snap_compat).
	SnapCompat bool
	// PersistAcrossProcesses lets a later process adopt a container
	// (docker_persist_across_processes).
	PersistAcrossProcesses bool
	// ForwardEnv names variables whose values go into every command, whatever they
	// are (docker_forward_env); EnvPassthrough those that go unless they are
	// Hermes' own (env_passthrough, in the file only).
	ForwardEnv, EnvPassthrough []string
	// Env is the containers' own environment (docker_env).
	Env map[string]Secret
	// ExtraArgs are arguments for "docker run" as they were written, which may
	// hold secrets too (docker_extra_args).
	ExtraArgs []any
	// Ignored says in one line each what of this was set to something that has
	// no meaning, and is passed over.
	Ignored []string
}

// The defaults of containers.
const (
	DefaultImage        = "nikolaik/python-nodejs:python3.11-nodejs20"
	DefaultContainerCwd = "/root"
	DefaultCPUs         = 1
	DefaultMemory       = 5120 << 20
	DefaultDisk         = 51200 << 20
	DefaultSharedMemory = "1g"
)

// ContainerPids is how many processes containers may have. Nobody can set it.
const ContainerPids = 256

// Container reads what is configured about containers. It is apart from Load because
// a mistake in it must not stop a sandbox that is none.
func (c Config) Container() (Container, error) {
	k := Container{Image: DefaultImage, CPUs: DefaultCPUs, Memory: DefaultMemory, Disk: DefaultDisk, Network: true, PersistAcrossProcesses: true}
	s := c.settings
	s.text("docker_image", &k.Image)
	s.boolean("docker_network", &k.Network)
	s.boolean("docker_snap_compat", &k.SnapCompat)
	s.boolean("docker_run_as_host_user", &k.RunAsHostUser)
	s.boolean("docker_persist_across_processes", &k.PersistAcrossProcesses)
	s.text("cwd", &k.Cwd)
	if !inContainer(k.Cwd) {
		k.Cwd = ""
	}
	for _, read := range []func() error{
		func() error { return s.processors("container_cpu", &k.CPUs) },
		func() error { return s.megabytes("container_memory", &k.Memory) },
		func() error { return s.megabytes("container_disk", &k.Disk) },
		func() error { return s.sharedMemory(&k.SharedMemory) },
		func() error { return k.lists(s) },
	} {
		if err := read(); err != nil {
			return Container{}, err
		}
	}
	return k, nil
}

// inContainer says whether a path can be one of a container's. The setting is shared
// with backends for which it is a path of the host.
func inContainer(p string) bool {
	return path.IsAbs(p) && !strings.HasPrefix(p+"/", "/home/") && !strings.HasPrefix(p+"/", "/Users/")
}

func (k *Container) lists(s *settings) error {
	forward, err := s.find("docker_forward_env").decode(`a JSON list, like ["NAME"]`)
	if err != nil {
		return err
	}
	k.ForwardEnv = forward.names(&k.Ignored)
	k.EnvPassthrough = s.inFile("env_passthrough").names(&k.Ignored)
	env, err := s.findHidden("docker_env").decode(`a JSON object, like {"NAME": "value"}`)
	if err != nil {
		return err
	}
	k.Env = env.variables(&k.Ignored)
	extra, err := s.findHidden("docker_extra_args").decode(`a JSON list, like ["--cap-add", "SYS_PTRACE"]`)
	if err != nil {
		return err
	}
	k.ExtraArgs = extra.list(&k.Ignored)
	return nil
}

func (s *settings) processors(key string, to *float64) error {
	found := s.find(key)
	if found.value == nil {
		return nil
	}
	n, ok := ParseNumber(found.text())
	if !ok || n > 0 && n < 0.01 || n > 1<<20 {
		return found.wrong("a number of processors, like 1.5, or 0 for no limit")
	}
	*to = n
	return nil
}

func (s *settings) megabytes(key string, to *int64) error {
	n, set, err := s.whole(key, 1<<40, "a whole number of megabytes, or 0 for no limit")
	if err == nil && set {
		*to = n << 20
	}
	return err
}

// sharedMemory reads a size. Here a value that is empty means something: no size.
func (s *settings) sharedMemory(to *int64) error {
	const key, variable = "docker_shm_size", "TERMINAL_DOCKER_SHM_SIZE"
	found := setting{value: DefaultSharedMemory, name: variable}
	if value, given := s.file.terminal[key]; given {
		found = setting{value: value, name: "terminal." + key, where: " in " + s.file.path}
	} else if value, given := s.lookup(variable); given {
		found.value = value
	}
	if found.value == nil || found.text() == "" {
		return nil
	}
	n, ok := ParseSize(found.text())
	if !ok {
		return found.wrong(fmt.Sprintf("a size, like 256m or %s, or 0 for the engine's own", DefaultSharedMemory))
	}
	*to = n
	return nil
}
