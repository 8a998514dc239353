package containerargs

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"hermes.example/hermes/internal/config"
	"hermes.example/hermes/sandbox"
)

// security reads --security-opt: NAME=VALUE, or in the old way NAME:VALUE.
func (p *parser) security(option string) error {
	c := &p.container
	name, value, given := strings.Cut(option, "=")
	if !given {
		name, value, given = strings.Cut(option, ":")
	} else if kind, more, old := strings.Cut(name, ":"); old { // label:type=…
		name, value = kind, more+"="+value
	}
	switch name {
	case "no-new-privileges":
		on := true
		if given {
			if err := toggle(&on)(value); err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
		}
		c.NewPrivileges = !on
	case "seccomp":
		return p.seccomp(value)
	case "apparmor":
		c.AppArmor = value
	case "label":
		c.SELinux = append(c.SELinux, value)
	case "systempaths":
		if value != sandbox.Unconfined {
			return fmt.Errorf("%s can only be %s", name, sandbox.Unconfined)
		}
		c.BareSystemPaths = true
	default:
		return fmt.Errorf("the option %q is not known here; leave it out", name)
	}
	return nil
}

// seccomp takes a profile by its file, so that the spec changes with its content.
func (p *parser) seccomp(value string) error {
	switch value {
	case sandbox.Unconfined:
		p.container.Seccomp = value
		return nil
	case "builtin":
		p.container.Seccomp = ""
		return nil
	}
	data, err := p.read(value)
	if err != nil {
		return fmt.Errorf("cannot read the seccomp profile: %w", err)
	}
	var profile bytes.Buffer
	if err := json.Compact(&profile, data); err != nil {
		return fmt.Errorf("the seccomp profile %s is not JSON", value)
	}
	p.container.Seccomp = profile.String()
	return nil
}

// maxFile is more than any profile or list of variables has.
const maxFile = 1 << 20

// read returns the content of a file of the caller's.
func (p *parser) read(name string) ([]byte, error) {
	name, err := p.absolute(name)
	if err != nil {
		return nil, err
	}
	// A pipe would hold us up when it is opened.
	if info, err := os.Stat(name); err != nil {
		return nil, err
	} else if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a file", name)
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err == nil && len(data) > maxFile {
		err = fmt.Errorf("%s is larger than %s bytes", name, strconv.Itoa(maxFile))
	}
	return data, err
}

// absolute is a path of the caller's: there is no shell that would read its "~".
func (p *parser) absolute(name string) (string, error) {
	if name == "" || strings.ContainsRune(name, 0) {
		return "", errors.New("it is no path")
	}
	name, err := config.ExpandHome(p.lookup, name)
	if err != nil {
		return "", err
	}
	return filepath.Abs(name)
}
