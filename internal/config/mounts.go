package config

import (
	"strings"

	"hermes.example/hermes/internal/truth"
)

// Mounts is what the configuration says about what sandboxes see of the host.
type Mounts struct {
	// Volumes are SOURCE:TARGET[:OPTIONS], as they were written (docker_volumes).
	Volumes []string
	// CwdToWorkspace mounts the caller's directory as the workspace
	// (docker_mount_cwd_to_workspace).
	CwdToWorkspace bool
	// Cwd is that directory where it is not the process's own (cwd).
	Cwd string
	// SkipProfile leaves out all that follows (HERMES_DOCKER_BACKEND_SKIP_PROFILE_MOUNTS).
	SkipProfile bool
	// CredentialFiles are relative to the home (credential_files, in the file only).
	CredentialFiles []string
	// SkillDirs are directories of skills besides the home's own
	// (skills.external_dirs, in the file only).
	SkillDirs []string
	// Ignored says in one line each what of this was set to something that has
	// no meaning, and is passed over.
	Ignored []string
}

// Mounts reads what is configured about mounts. It is apart from Load because a
// mistake in it must not stop a sandbox that has no mounts.
func (c Config) Mounts() (Mounts, error) {
	var m Mounts
	volumes, err := c.settings.find("docker_volumes").decode(`a JSON list, like ["/data:/data"]`)
	if err != nil {
		return Mounts{}, err
	}
	m.Volumes = volumes.texts(&m.Ignored)
	c.settings.boolean("docker_mount_cwd_to_workspace", &m.CwdToWorkspace)
	c.settings.text("cwd", &m.Cwd)
	// The one switch that knows "on" too.
	skip := get(c.settings.lookup, "HERMES_DOCKER_BACKEND_SKIP_PROFILE_MOUNTS")
	m.SkipProfile = truth.InAnyCase(skip) || strings.EqualFold(skip, "on")

	m.CredentialFiles = c.settings.inFile("credential_files").texts(&m.Ignored)
	external := setting{value: c.settings.file.skills["external_dirs"], name: "skills.external_dirs", where: " in " + c.settings.file.path}
	if one, ok := external.value.(string); ok {
		external.value = []any{one} // a single directory needs no list
	}
	m.SkillDirs = external.texts(&m.Ignored)
	return m, nil
}
