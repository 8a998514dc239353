package doctor

import (
	"fmt"

	"hermes.example/hermes/internal/subid"
)

// wantedIDs is how many ids a sandbox has when it has all.
const wantedIDs = 65536

var subFiles = []string{"/etc/subuid", "/etc/subgid"}

// subordinate judges where the ids of a sandbox come from.
func (m *machine) subordinate(t facts) Finding {
	const name = "subordinate ids"
	if m.uid == 0 {
		if t.Map != nil {
			return Bad.finding(name, "exit # this user namespace: root of the host and ordinary users have more ids", "root has too few ids here, as in a user namespace: %v", t.Map)
		}
		return ok(name, "not needed: root gives every sandbox a range of its own")
	}
	if !m.has("newuidmap") || !m.has("newgidmap") {
		return Note.finding(name, m.install("newuidmap"), "there is no newuidmap or no newgidmap: only one user exists inside")
	}
	var missing []string
	fewest := wantedIDs
	for _, file := range subFiles {
		r, err := subid.Of(m.path(file), m.uid, m.user)
		if err != nil {
			missing = append(missing, file)
			continue
		}
		fewest = min(fewest, r.Count)
	}
	switch {
	case len(missing) > 0:
		return Note.finding(name, m.addRanges(missing), "none for %s: only one user exists inside, so that chown and package managers fail", m.who())
	case t.Map != nil:
		return Bad.finding(name, m.mendMappers(), "%v", t.Map)
	case fewest < wantedIDs:
		return Note.finding(name, m.addRanges(subFiles), "only %d for %s: users above them do not exist inside", fewest, m.who())
	}
	return ok(name, "%d for %s", fewest, m.who())
}

// addRanges is the command that gives the user ids which nobody has.
func (m *machine) addRanges(files []string) string {
	first := subid.Free(wantedIDs, m.path(subFiles[0]), m.path(subFiles[1]))
	if m.user == "" || !m.hasAdmin("usermod") {
		command := fmt.Sprintf("echo %s:%d:%d | %stee -a", quote(m.who()), first, wantedIDs, m.sudo())
		for _, file := range files {
			command += " " + file
		}
		return command
	}
	command := m.sudo() + "usermod"
	for _, file := range files {
		flag := map[string]string{"/etc/subuid": "--add-subuids", "/etc/subgid": "--add-subgids"}[file]
		command += fmt.Sprintf(" %s %d-%d", flag, first, first+wantedIDs-1)
	}
	return command + " " + quote(m.user)
}

// mendMappers is for mappers that are there but have lost their rights.
func (m *machine) mendMappers() string {
	command := m.sudo() + "chmod u+s"
	for _, program := range []string{"newuidmap", "newgidmap"} {
		if path, err := m.find(program); err == nil {
			command += " " + quote(path)
		}
	}
	return command
}
