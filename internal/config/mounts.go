package config

import (
	"encoding/json"
	"fmt"
	"strings"
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
	var err error
	if m.Volumes, err = m.list(c.settings.find("docker_volumes")); err != nil {
		return Mounts{}, err
	}
	c.settings.boolean("docker_mount_cwd_to_workspace", &m.CwdToWorkspace)
	if cwd := c.settings.find("cwd"); cwd.value != nil {
		m.Cwd = cwd.text()
	}
	// The one switch that knows "on" too.
	skip := get(c.settings.lookup, "HERMES_DOCKER_BACKEND_SKIP_PROFILE_MOUNTS")
	m.SkipProfile = isTrue(skip) || strings.EqualFold(skip, "on")

	in := " in " + c.settings.file.path
	m.CredentialFiles = m.strings(setting{c.settings.file.terminal["credential_files"], "terminal.credential_files", in})
	external := setting{c.settings.file.skills["external_dirs"], "skills.external_dirs", in}
	if one, ok := external.value.(string); ok {
		external.value = []any{one} // a single directory needs no list
	}
	m.SkillDirs = m.strings(external)
	return m, nil
}

// list reads a list that is JSON where it comes from a variable.
func (m *Mounts) list(s setting) ([]string, error) {
	if text, ok := s.value.(string); ok && s.where == "" {
		if err := json.Unmarshal([]byte(text), &s.value); err != nil {
			return nil, s.wrong(`a JSON list, like ["/data:/data"]`)
		}
	}
	return m.strings(s), nil
}

// strings takes the strings of a list, trimmed, and notes what is none.
func (m *Mounts) strings(s setting) []string {
	if s.value == nil {
		return nil
	}
	list, ok := s.value.([]any)
	if !ok {
		m.Ignored = append(m.Ignored, fmt.Sprintf("cannot use %s%s: it is not a list; it is ignored", s.name, s.where))
	}
	var found []string
	for i, value := range list {
		text, ok := value.(string)
		if text = strings.TrimSpace(text); !ok || text == "" {
			m.Ignored = append(m.Ignored, fmt.Sprintf("cannot use entry %d of %s%s: it is not a text; it is ignored", i+1, s.name, s.where))
			continue
		}
		found = append(found, text)
	}
	return found
}
