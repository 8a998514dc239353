package doctor

import (
	"cmp"
	"fmt"
	"strings"
)

const again = "hermes doctor # again, when the machine is less busy"

// sudo comes before what only root may do.
func (m *machine) sudo() string {
	if m.uid == 0 {
		return ""
	}
	return "sudo "
}

// managers are the package managers, with how they install and how they renew the
// kernel with all the rest.
var managers = []struct{ program, install, upgrade string }{
	{"apt-get", "apt-get install --yes", "apt-get update && %[1]sapt-get full-upgrade --yes"},
	{"dnf", "dnf install --assumeyes", "dnf upgrade --assumeyes"},
	{"zypper", "zypper --non-interactive install", "zypper --non-interactive dist-upgrade"},
	{"pacman", "pacman -S --noconfirm", "pacman -Syu --noconfirm"},
	{"apk", "apk add", "apk upgrade"},
	{"brew", "brew install", "brew upgrade"},
}

// packages are the names that differ between the managers.
var packages = map[string]map[string]string{
	"newuidmap": {"apt-get": "uidmap", "dnf": "shadow-utils", "zypper": "shadow", "pacman": "shadow", "apk": "shadow-uidmap"},
	"docker":    {"apt-get": "docker.io", "dnf": "moby-engine"},
	"python3":   {"pacman": "python"},
	"node":      {"apt-get": "nodejs", "dnf": "nodejs", "zypper": "nodejs-default", "pacman": "nodejs", "apk": "nodejs"},
}

// install is the command that installs what has a program.
func (m *machine) install(program string) string {
	for _, manager := range managers {
		if m.has(manager.program) {
			sudo := m.sudo()
			if manager.program == "brew" {
				sudo = ""
			}
			return sudo + manager.install + " " + cmp.Or(packages[program][manager.program], program)
		}
	}
	return "install " + program + " with this system's package manager"
}

// newKernel is the command that brings this system's newest kernel.
func (m *machine) newKernel() string {
	for _, manager := range managers {
		if m.has(manager.program) {
			upgrade := manager.upgrade
			if strings.Contains(upgrade, "%") {
				upgrade = fmt.Sprintf(upgrade, m.sudo())
			}
			return m.sudo() + upgrade + " && " + m.sudo() + "reboot"
		}
	}
	return "install a newer kernel with this system's package manager and reboot"
}

// sysctl is the command that sets a switch of the kernel, now and at every start.
func (m *machine) sysctl(key, value string) string {
	const file = "/etc/sysctl.d/60-hermes.conf"
	return fmt.Sprintf("echo '%s = %s' | %stee -a %s && %[3]ssysctl -p %[4]s", key, value, m.sudo(), file)
}

// start is the command that starts a service.
func (m *machine) start(service, otherwise string) string {
	if m.hasSystemd() {
		return m.sudo() + "systemctl start " + service
	}
	return m.sudo() + otherwise
}

func (m *machine) restart(service string) string {
	if m.hasSystemd() {
		return m.sudo() + "systemctl restart " + service
	}
	return m.sudo() + "service " + service + " restart"
}

// delegate is the command that gives this user's services all controllers of groups.
func (m *machine) delegate() string {
	const dropIn = "/etc/systemd/system/user@.service.d"
	return fmt.Sprintf(`%[1]smkdir -p %[2]s && printf '[Service]\nDelegate=cpu memory pids\n' | %[1]stee %[2]s/hermes.conf && %[1]ssystemctl daemon-reload && %[1]ssystemctl restart user@%[3]d`, m.sudo(), dropIn, m.uid)
}

// anew is how a container is made that allows more.
func (m *machine) anew(flags string) string {
	program := "docker"
	if m.exists("/run/.containerenv") {
		program = "podman"
	}
	return program + " run " + flags + " … # when the container is made"
}

// quote makes a word of a shell of any text.
func quote(s string) string {
	plain := func(r rune) bool {
		return 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || strings.ContainsRune("/._-+:@%,", r)
	}
	if s != "" && strings.TrimFunc(s, plain) == "" {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
