package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net/textproto"
	"net/url"
	"os"
	"path/filepath"
	"strings"
)

type debian struct {
	architecture string
	packages     []material
}

// debianPackages are those that dpkg has installed, and those of which the image has a part: each of these has a file
// in status.d, as package scanners expect it.
func debianPackages(root string) (found debian, err error) {
	release, err := osRelease(root)
	if err != nil {
		return found, err
	}
	parts, err := filepath.Glob(filepath.Join(root, "var/lib/dpkg/status.d/*"))
	if err != nil {
		return found, err
	}
	for _, file := range append([]string{filepath.Join(root, "var/lib/dpkg/status")}, parts...) {
		err := paragraphs(file, func(p textproto.MIMEHeader) {
			name, version, arch := p.Get("Package"), p.Get("Version"), p.Get("Architecture")
			if status := p.Get("Status"); status != "" && !strings.HasSuffix(status, " installed") {
				return
			}
			if name == "dpkg" {
				found.architecture = arch
			}
			query := url.Values{"arch": {arch}, "distro": {release["ID"] + "-" + release["VERSION_ID"]}}
			found.packages = append(found.packages, material{
				name: name, version: version,
				purl: "pkg:deb/" + release["ID"] + "/" + url.QueryEscape(name) + "@" + url.QueryEscape(version) + "?" + query.Encode(),
			})
		})
		if err != nil {
			return found, fmt.Errorf("cannot read the packages of %s: %w", file, err)
		}
	}
	if found.architecture == "" {
		return found, errors.New("dpkg's own package is not among the installed ones")
	}
	return found, nil
}

// paragraphs hands on each paragraph of a file of dpkg's; only fields of one line are wanted.
func paragraphs(file string, each func(textproto.MIMEHeader)) error {
	f, err := os.Open(file)
	if err != nil {
		return err
	}
	defer f.Close()
	for in := textproto.NewReader(bufio.NewReader(f)); ; {
		p, err := in.ReadMIMEHeader()
		if len(p) > 0 {
			each(p)
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

func osRelease(root string) (map[string]string, error) {
	text, err := os.ReadFile(filepath.Join(root, "etc/os-release"))
	if err != nil {
		return nil, err
	}
	values := map[string]string{}
	for line := range strings.Lines(string(text)) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), "=")
		values[name] = strings.Trim(value, `"'`)
	}
	return values, nil
}
