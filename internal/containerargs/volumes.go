package containerargs

import (
	"encoding/csv"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/docker/go-units"

	"hermes.example/hermes/sandbox"
)

var (
	errNameless = errors.New("nobody would find a volume without a name again; write NAME:TARGET or DIRECTORY:TARGET")
	errWindows  = errors.New("paths of Windows do not exist in a sandbox; write SOURCE:TARGET")
)

// volume reads --volume: SOURCE:TARGET[:OPTION,…], where a source without a slash, a
// dot or a "~" before it is the name of a volume.
func (p *parser) volume(text string) error {
	if strings.Contains(text, `\`) {
		return errWindows
	}
	parts := strings.Split(text, ":")
	switch {
	case len(parts) == 1:
		return errNameless
	case len(parts) > 3 || parts[0] == "" || parts[1] == "":
		return errors.New("it is not SOURCE:TARGET[:ro]")
	case len(parts) == 3 && strings.HasPrefix(parts[2], "/"):
		return errWindows // a drive's letter before the first colon
	}
	m := mounting{kind: "volume", source: parts[0], target: parts[1]}
	if strings.ContainsAny(parts[0][:1], "/.~") {
		m.kind = "bind"
	}
	if len(parts) == 3 {
		for option := range strings.SplitSeq(parts[2], ",") {
			if err := m.option(option); err != nil {
				return err
			}
		}
	}
	return p.add(m)
}

// mounting is what is to be mounted, whichever flag said so.
type mounting struct {
	kind, source, target string
	readOnly, noCopy     bool
	options              []string // of a directory in memory
}

// option is one of those behind the second colon of --volume.
func (m *mounting) option(name string) error {
	switch name {
	case "ro":
		m.readOnly = true
	case "rw", "private", "rprivate", "cached", "consistent", "delegated":
		// It is so anyway, or makes no difference on Linux.
	case "nocopy":
		m.noCopy = true
	case "z", "Z":
		return fmt.Errorf("the option %q would change labels of the host's files; label them yourself, or use --security-opt label=disable", name)
	default:
		return fmt.Errorf("the option %q is not part of a sandbox; leave it out", name)
	}
	return nil
}

// mount reads --mount: KEY=VALUE,… as a line of CSV.
func (p *parser) mount(text string) error {
	fields, err := csv.NewReader(strings.NewReader(text)).Read()
	if err != nil {
		return errors.New("it is not KEY=VALUE,…")
	}
	m := mounting{kind: "volume"}
	for _, field := range fields {
		key, value, given := strings.Cut(field, "=")
		if err := m.field(strings.ToLower(key), value, given); err != nil {
			return err
		}
	}
	return p.add(m)
}

func (m *mounting) field(key, value string, given bool) error {
	on := true
	if given && slices.Contains([]string{"readonly", "ro", "volume-nocopy"}, key) {
		if err := toggle(&on)(value); err != nil {
			return fmt.Errorf("%s: %w", key, err)
		}
	}
	switch key {
	case "type":
		m.kind = value
	case "source", "src":
		m.source = value
	case "target", "destination", "dst":
		m.target = value
	case "readonly", "ro":
		m.readOnly = on
	case "volume-nocopy":
		m.noCopy = on
	case "consistency":
		// It makes no difference on Linux.
	case "bind-propagation":
		return m.option(value)
	case "tmpfs-size":
		n, err := units.RAMInBytes(value)
		if err != nil || n <= 0 {
			return fmt.Errorf("%s: %w", key, errNoSize)
		}
		m.options = append(m.options, "size="+strconv.FormatInt(n, 10))
	case "tmpfs-mode":
		mode, err := strconv.ParseUint(value, 8, 12)
		if err != nil {
			return fmt.Errorf("%s: it is not an octal mode like 1777", key)
		}
		m.options = append(m.options, "mode="+strconv.FormatUint(mode, 8))
	default:
		return fmt.Errorf("its field %q is not part of a sandbox; leave it out", key)
	}
	return nil
}

// add adds what is mounted to what was read.
func (p *parser) add(m mounting) error {
	if m.kind != "tmpfs" && len(m.options) > 0 || m.kind != "volume" && m.noCopy || m.kind == "tmpfs" && m.source != "" {
		return fmt.Errorf("not all of it is for the type %q", m.kind)
	}
	switch m.kind {
	case "bind":
		source, err := p.absolute(m.source)
		if err != nil {
			return err
		}
		p.said.Mounts = append(p.said.Mounts, sandbox.Mount{Source: source, Target: m.target, ReadOnly: m.readOnly, Origin: sandbox.ByConfig})
	case "volume":
		if m.source == "" {
			return errNameless
		}
		p.container.Volumes = append(p.container.Volumes, sandbox.Volume{Name: m.source, Target: m.target, ReadOnly: m.readOnly, NoCopy: m.noCopy})
	case "tmpfs":
		if m.readOnly {
			m.options = append(m.options, "ro")
		}
		p.container.Tmpfs = append(p.container.Tmpfs, sandbox.Tmpfs{Target: m.target, Options: m.options})
	default:
		return fmt.Errorf("the type %q is not part of a sandbox; use bind, volume or tmpfs", m.kind)
	}
	return nil
}

// tmpfs reads --tmpfs: TARGET[:OPTION,…].
func (p *parser) tmpfs(text string) error {
	target, options, given := strings.Cut(text, ":")
	m := mounting{kind: "tmpfs", target: target}
	if given {
		m.options = strings.Split(options, ",")
	}
	return p.add(m)
}
