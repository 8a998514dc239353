package daemon

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io/fs"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strings"
)

// The ports of an engine on the network, where an address leaves the port out.
const (
	plainPort   = "2375"
	securedPort = "2376"
)

// split takes an address apart. Without a scheme it is one on the network, as with Docker's own tool.
func split(address string) (scheme, rest string) {
	if scheme, rest, found := strings.Cut(address, "://"); found {
		return scheme, rest
	}
	if path, found := strings.CutPrefix(address, "unix:"); found {
		return "unix", path
	}
	return "tcp", address
}

// parse makes an address as people write it one that the client understands. What it says of one that it
// does not take has no password in it.
func (s *search) parse(address, from string, secured bool) (string, error) {
	scheme, rest := split(address)
	fix := "set " + from + " to an address such as unix:///var/run/docker.sock or tcp://HOST:2376"
	if strings.HasPrefix(from, "context ") {
		fix = otherContext
	}
	switch scheme {
	case "unix":
		if !strings.HasPrefix(rest, "/") {
			return "", s.unusable(from, fix, "the path of its socket is not absolute")
		}
		return "unix://" + rest, nil
	case "npipe":
		if s.goos != "windows" {
			return "", s.unusable(from, fix, "only Windows has named pipes")
		}
		return "npipe://" + rest, nil
	case "tcp":
		u, err := url.Parse("tcp://" + rest)
		if err != nil || u.Hostname() == "" {
			return "", s.unusable(from, fix, "it is not an address")
		}
		port := u.Port()
		if port == "" {
			port = plainPort
			if secured {
				port = securedPort
			}
		}
		return "tcp://" + net.JoinHostPort(u.Hostname(), port) + strings.TrimSuffix(u.Path, "/"), nil
	case "ssh":
		return "", s.unusable(from, `forward its socket with "ssh -nNT -L $HOME/docker.sock:/var/run/docker.sock `+sshHost(rest)+`" and set DOCKER_HOST=unix://$HOME/docker.sock`,
			"Hermes opens no ssh connections of its own")
	}
	return "", s.unusable(from, fix, "Hermes speaks to unix, tcp and npipe addresses, not to %q", scheme)
}

// sshHost is what an ssh:// address means on ssh's own command line.
func sshHost(rest string) string {
	u, err := url.Parse("ssh://" + rest)
	if err != nil || u.Hostname() == "" {
		return "HOST"
	}
	host := u.Hostname()
	if name := u.User.Username(); name != "" {
		host = name + "@" + host
	}
	if port := u.Port(); port != "" {
		host = "-p " + port + " " + host
	}
	return host
}

// variablesTLS is what DOCKER_TLS_VERIFY and DOCKER_CERT_PATH say; nil without either.
func (s *search) variablesTLS() (*tls.Config, error) {
	verify, dir := s.env("DOCKER_TLS_VERIFY") != "", s.env("DOCKER_CERT_PATH")
	if !verify && dir == "" {
		return nil, nil
	}
	from := "DOCKER_CERT_PATH"
	if dir == "" {
		from, dir = "DOCKER_TLS_VERIFY", s.dockerConfig()
	}
	secured, err := readTLS(dir)
	switch {
	case err != nil:
		return nil, s.unusable(from, "mend the file, or set DOCKER_CERT_PATH to the directory of ca.pem, cert.pem and key.pem", "%v", err)
	case secured == nil && s.env("DOCKER_CERT_PATH") != "":
		return nil, s.unusable(from, "set it to the directory of ca.pem, cert.pem and key.pem", "%s has none of ca.pem, cert.pem and key.pem", dir)
	case secured == nil:
		secured = &tls.Config{}
	}
	if !verify {
		secured.InsecureSkipVerify = true
		s.Warn("the engine of DOCKER_HOST may be anybody: its certificate is not checked; set DOCKER_TLS_VERIFY=1")
	}
	return secured, nil
}

// readTLS reads ca.pem, cert.pem and key.pem of a directory, as far as they are there; nil without any.
// An authority that is named is the only one that is trusted.
func readTLS(dir string) (*tls.Config, error) {
	ca, caErr := os.ReadFile(filepath.Join(dir, "ca.pem"))
	cert, certErr := os.ReadFile(filepath.Join(dir, "cert.pem"))
	key, keyErr := os.ReadFile(filepath.Join(dir, "key.pem"))
	for _, err := range []error{caErr, certErr, keyErr} {
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
	}
	if caErr != nil && certErr != nil && keyErr != nil {
		return nil, nil
	}
	secured := &tls.Config{}
	if caErr == nil {
		secured.RootCAs = x509.NewCertPool()
		if !secured.RootCAs.AppendCertsFromPEM(ca) {
			return nil, errors.New(filepath.Join(dir, "ca.pem") + " holds no certificate")
		}
	}
	if certErr == nil || keyErr == nil {
		if err := errors.Join(certErr, keyErr); err != nil {
			return nil, err
		}
		pair, err := tls.X509KeyPair(cert, key)
		if err != nil {
			return nil, errors.New(filepath.Join(dir, "cert.pem") + " and key.pem cannot be used: " + err.Error())
		}
		secured.Certificates = []tls.Certificate{pair}
	}
	return secured, nil
}
