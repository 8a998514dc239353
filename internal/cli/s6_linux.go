package cli

import (
	"log/slog"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"

	"hermes.example/hermes/internal/asuser"
	"hermes.example/hermes/internal/profile"
	"hermes.example/hermes/internal/roster"
	"hermes.example/hermes/internal/supervise"
	"hermes.example/hermes/internal/supervise/s6"
)

const (
	// initName is the file that names PID 1; unlike its executable everybody may read it.
	initName = "/proc/1/comm"
	// s6Environment is where s6-overlay keeps the environment that the container was started with.
	s6Environment = "/run/s6/container_environment"
	// serviceUser is who runs gateways in an image.
	serviceUser = "hermes"
)

// scanDir is where s6 looks for services.
func (a *app) scanDir() string {
	if dir, _ := a.lookup("S6_PROFILE_GATEWAY_SCANDIR"); dir != "" {
		return dir
	}
	return s6.DefaultScanDir
}

// underS6 says whether PID 1 is s6's and has a place for services. What cannot be read says no.
func underS6(initName, scanDir string) bool {
	name, err := os.ReadFile(initName)
	if err != nil || strings.TrimSpace(string(name)) != "s6-svscan" {
		return false
	}
	info, err := os.Stat(scanDir)
	return err == nil && info.IsDir()
}

// s6Services is a roster in this process whose gateways s6 keeps.
func (a *app) s6Services() (services *roster.Roster, done func(), err error) {
	home, _, err := a.home()
	if err != nil {
		return nil, nil, err
	}
	program, err := os.Executable()
	if err != nil {
		return nil, nil, cannot("find this program", err)
	}
	who, err := servant()
	if err != nil {
		return nil, nil, err
	}
	driver, err := s6.New(s6.Options{ScanDir: a.scanDir(), User: who})
	if err != nil {
		return nil, nil, err
	}
	if who != nil {
		if home.Hand, err = asuser.New(asuser.User{UID: who.UID, GID: who.GID, Groups: who.Groups}); err != nil {
			driver.Close()
			return nil, nil, err
		}
	}
	env := environmentOf(s6Environment, home)
	services = roster.New(roster.Options{
		Home: home, Driver: driver, Log: slog.New(slog.NewTextHandler(a.stderr, nil)),
		Gateway: func(name string) supervise.Service {
			s := roster.Gateway(program, home.Root, name, env)
			s.User = who
			return s
		},
	})
	return services, func() { home.Hand.Close(); driver.Close() }, nil
}

// servant is who runs gateways if the caller is root; anybody else does so himself, which is nil.
func servant() (*supervise.User, error) {
	if os.Geteuid() != 0 {
		return nil, nil
	}
	u, err := user.Lookup(serviceUser)
	if err != nil {
		return nil, cannot("find the user who runs gateways", err)
	}
	groups, err := u.GroupIds()
	if err != nil {
		return nil, cannot("find the groups of "+serviceUser, err)
	}
	who := &supervise.User{}
	who.UID, _ = strconv.Atoi(u.Uid)
	who.GID, _ = strconv.Atoi(u.Gid)
	for _, g := range groups {
		if id, err := strconv.Atoi(g); err == nil && id != who.GID {
			who.Groups = append(who.Groups, id)
		}
	}
	return who, nil
}

// environmentOf is what a gateway is started with: the container's environment if it was kept, or else that of this
// process, and the home as everybody's.
func environmentOf(dir string, home *profile.Home) []string {
	env := os.Environ()
	if files, err := os.ReadDir(dir); err == nil {
		env = env[:0]
		for _, f := range files {
			if value, err := os.ReadFile(filepath.Join(dir, f.Name())); err == nil {
				env = append(env, f.Name()+"="+strings.TrimRight(string(value), "\n"))
			}
		}
	}
	var kept []string
	for _, v := range env {
		if !strings.HasPrefix(v, "HOME=") {
			kept = append(kept, v)
		}
	}
	return append(kept, "HOME="+home.Root)
}
