package daemon

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// authority signs the certificates of one test.
type authority struct {
	t    *testing.T
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

func newAuthority(t *testing.T) *authority {
	t.Helper()
	a := &authority{t: t}
	a.cert, a.key = a.sign(&x509.Certificate{IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign, Subject: pkix.Name{CommonName: "authority"}})
	return a
}

func (a *authority) sign(c *x509.Certificate) (*x509.Certificate, *ecdsa.PrivateKey) {
	a.t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		a.t.Fatal(err)
	}
	c.SerialNumber, c.NotBefore, c.NotAfter = big.NewInt(time.Now().UnixNano()), time.Now().Add(-time.Hour), time.Now().Add(time.Hour)
	parent, signer := a.cert, a.key
	if parent == nil {
		parent, signer = c, key
	}
	der, err := x509.CreateCertificate(rand.Reader, c, parent, &key.PublicKey, signer)
	if err != nil {
		a.t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		a.t.Fatal(err)
	}
	return cert, key
}

// files writes ca.pem, cert.pem and key.pem for a client or, for the loopback address, a server.
func (a *authority) files(dir string) string {
	a.t.Helper()
	cert, key := a.sign(&x509.Certificate{IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth, x509.ExtKeyUsageServerAuth}})
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		a.t.Fatal(err)
	}
	a.authorityFile(dir)
	for name, block := range map[string]*pem.Block{"cert.pem": {Type: "CERTIFICATE", Bytes: cert.Raw}, "key.pem": {Type: "EC PRIVATE KEY", Bytes: der}} {
		write(a.t, filepath.Join(dir, name), string(pem.EncodeToMemory(block)), 0o600)
	}
	return dir
}

func (a *authority) authorityFile(dir string) {
	a.t.Helper()
	write(a.t, filepath.Join(dir, "ca.pem"), string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: a.cert.Raw})), 0o600)
}

func remove(t *testing.T, paths ...string) {
	t.Helper()
	for _, path := range paths {
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
	}
}

// serve puts the real engine on the network of this machine, for clients with a certificate only.
func (a *authority) serve() string {
	a.t.Helper()
	dir := a.files(a.t.TempDir())
	pair, err := tls.LoadX509KeyPair(dir+"/cert.pem", dir+"/key.pem")
	if err != nil {
		a.t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AddCert(a.cert)
	listener, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{Certificates: []tls.Certificate{pair}, ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: pool})
	if err != nil {
		a.t.Fatal(err)
	}
	server := &http.Server{Handler: inFront(), ErrorLog: log.New(io.Discard, "", 0)}
	go server.Serve(listener)
	a.t.Cleanup(func() { server.Close() })
	return "tcp://" + listener.Addr().String()
}

func TestTLS(t *testing.T) {
	realDocker(t)
	trusted, stranger := newAuthority(t), newAuthority(t)
	host := trusted.serve()
	mine, theirs := trusted.files(t.TempDir()), stranger.files(t.TempDir())
	verify := func(dir string) Options {
		return Options{Lookup: lookup("DOCKER_HOST="+host, "DOCKER_TLS_VERIFY=1", "DOCKER_CERT_PATH="+dir)}
	}
	find(t, verify(mine), Docker, host)
	if f := ask(t, verify(mine)); f.Version == "" {
		t.Errorf("%+v", f)
	}
	// The directory of Docker's own configuration is meant where no other is named.
	find(t, Options{Lookup: lookup("DOCKER_HOST="+host, "DOCKER_TLS_VERIFY=1", "DOCKER_CONFIG="+mine)}, Docker, host)

	fails(t, verify(theirs), Unusable, "certificate", "mend the certificates")
	fails(t, verify(t.TempDir()), Unusable, "cannot use DOCKER_CERT_PATH", "none of ca.pem")
	fails(t, Options{Lookup: lookup("DOCKER_HOST=" + host)}, Unusable, "HTTPS")

	half := trusted.files(t.TempDir())
	remove(t, half+"/key.pem")
	fails(t, verify(half), Unusable, "key.pem")
	write(t, half+"/key.pem", "nonsense", 0o600)
	fails(t, verify(half), Unusable, "key.pem")
	remove(t, half+"/cert.pem", half+"/key.pem")
	fails(t, verify(half), Unusable, "certificate required", "mend the certificates")
	write(t, half+"/ca.pem", "nonsense", 0o600)
	fails(t, verify(half), Unusable, "ca.pem holds no certificate")

	// Who does not ask for it gets no check of the server, and is told.
	var warned []string
	unchecked := trusted.files(t.TempDir())
	stranger.authorityFile(unchecked)
	fails(t, verify(unchecked), Unusable, "certificate")
	find(t, Options{Lookup: lookup("DOCKER_HOST="+host, "DOCKER_CERT_PATH="+unchecked), Warn: func(line string) { warned = append(warned, line) }}, Docker, host)
	if len(warned) != 1 || !strings.Contains(warned[0], "DOCKER_TLS_VERIFY") {
		t.Errorf("it said %q", warned)
	}

	// Certificates are for the network: a socket does without, whatever they are.
	find(t, Options{Lookup: lookup("DOCKER_HOST=unix://"+realSocket, "DOCKER_TLS_VERIFY=1", "DOCKER_CERT_PATH=/absent")}, Docker, "unix://"+realSocket)
}

func TestTLSOfContexts(t *testing.T) {
	realDocker(t)
	trusted, stranger := newAuthority(t), newAuthority(t)
	host := trusted.serve()
	dir := t.TempDir()
	trusted.files(makeContext(t, dir, "good", host, false))
	stranger.files(makeContext(t, dir, "bad", host, false))
	stranger.authorityFile(trusted.files(makeContext(t, dir, "careless", host, true)))
	env := func(name string) Options {
		return Options{Lookup: lookup("DOCKER_CONFIG="+dir, "DOCKER_CONTEXT="+name)}
	}
	find(t, env("good"), Docker, host)
	find(t, env("careless"), Docker, host)
	fails(t, env("bad"), Unusable, "certificate", `context "bad"`)
}
