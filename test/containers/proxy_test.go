//go:build linux

package containers

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"io"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/client"
)

// A stream in both directions, of which the caller closes its half first.
func TestProxyCarriesAnExec(t *testing.T) {
	onBoth(t, func(t *testing.T, d *client.Client) {
		id := running(t, d)
		p := NewProxy(t, d)
		for _, host := range []string{p.Host, p.TCPHost} {
			stream := execute(t, Connect(t, host), id, "sh", "-c", "echo ready; cat; echo the end")
			if line, err := stream.Reader.ReadString('\n'); err != nil || !strings.Contains(line, "ready") {
				t.Fatalf("%s: %q, %v", host, line, err)
			}
			io.WriteString(stream.Conn, "hello\n")
			if err := stream.CloseWrite(); err != nil {
				t.Fatal(err)
			}
			out, err := io.ReadAll(stream.Reader)
			if err != nil || !bytes.Contains(out, []byte("hello")) || !bytes.Contains(out, []byte("the end")) {
				t.Errorf("%s: after the caller's end comes %q, %v", host, out, err)
			}
		}
	})
}

func TestProxyAnswersInsteadOfTheDaemon(t *testing.T) {
	d := Docker(t)
	p := NewProxy(t, d)
	c := p.Client()
	p.Inject(Fault{On: "^GET /version$", Status: 500, Message: "the disk is full", Times: 2})
	for range 2 {
		if _, err := c.ServerVersion(t.Context(), client.ServerVersionOptions{}); err == nil || !strings.Contains(err.Error(), "the disk is full") {
			t.Errorf("the error is %v", err)
		}
		if _, err := c.Info(t.Context(), client.InfoOptions{}); err != nil {
			t.Errorf("another request suffers too: %v", err)
		}
	}
	if _, err := c.ServerVersion(t.Context(), client.ServerVersionOptions{}); err != nil {
		t.Errorf("two times are over: %v", err)
	}
}

// The daemon has made the container, and its caller does not know.
func TestProxySpoilsAnAnswer(t *testing.T) {
	for name, fault := range map[string]Fault{"status": {Status: 500, Message: "lost"}, "cut": {Cut: true}} {
		t.Run(name, func(t *testing.T) {
			d := Docker(t)
			p := NewProxy(t, d)
			fault.On, fault.Answer = "^POST /containers/create$", true
			p.Inject(fault)
			taken := "hermes-test-" + rand.Text()
			_, err := p.Client().ContainerCreate(t.Context(), client.ContainerCreateOptions{Name: taken, Config: &container.Config{Image: Scratch.In(t, d), Cmd: []string{"x"}}})
			if err == nil {
				t.Error("the answer arrived")
			}
			if _, err := d.ContainerRemove(t.Context(), taken, client.ContainerRemoveOptions{}); err != nil {
				t.Errorf("the daemon did nothing: %v", err)
			}
		})
	}
}

// Cut before it is forwarded, a request has no effect.
func TestProxyCutsARequest(t *testing.T) {
	d := Docker(t)
	p := NewProxy(t, d)
	p.Inject(Fault{On: "^POST /containers/create$", Cut: true})
	name := "hermes-test-" + rand.Text()
	_, err := p.Client().ContainerCreate(t.Context(), client.ContainerCreateOptions{Name: name, Config: &container.Config{Image: Scratch.In(t, d), Cmd: []string{"x"}}})
	if err == nil {
		t.Error("the request was answered")
	}
	if _, err := d.ContainerRemove(t.Context(), name, client.ContainerRemoveOptions{}); err == nil {
		t.Error("the daemon heard of it")
	}
}

func TestProxyCutsAfterBytes(t *testing.T) {
	d := Docker(t)
	id := running(t, d)
	t.Run("of an answer", func(t *testing.T) {
		p := NewProxy(t, d)
		p.Inject(Fault{On: "/exec/.*/start", Answer: true, After: 5000, Cut: true})
		stream := execute(t, p.Client(), id, "yes")
		out, _ := io.ReadAll(stream.Reader)
		if len(out) != 5000 {
			t.Errorf("%d bytes passed", len(out))
		}
	})
	t.Run("of a request", func(t *testing.T) {
		p := NewProxy(t, d)
		p.Inject(Fault{On: "/exec/.*/start", After: 5000, Cut: true})
		stream := execute(t, p.Client(), id, "sh", "-c", "wc -c >/tmp/count; sync")
		var err error
		for err == nil {
			_, err = stream.Conn.Write(make([]byte, 1000))
		}
		// The body of the request counts too, so it is a little less.
		until(t, "the command has read 49.. bytes", func() bool {
			out, _ := io.ReadAll(execute(t, d, id, "cat", "/tmp/count").Reader)
			return regexp.MustCompile(`\b49..\n`).Match(out)
		})
	})
}

func TestProxyIsSlow(t *testing.T) {
	d := Docker(t)
	p := NewProxy(t, d)
	c := p.Client()
	if _, err := c.Ping(t.Context(), client.PingOptions{}); err != nil {
		t.Fatal(err)
	}
	p.Inject(Fault{On: "GET /version", Delay: 300 * time.Millisecond})
	start := time.Now()
	if _, err := c.ServerVersion(t.Context(), client.ServerVersionOptions{}); err != nil {
		t.Fatal(err)
	}
	if took := time.Since(start); took < 300*time.Millisecond {
		t.Errorf("it took %v", took)
	}
}

// What hangs goes on when the proxy is healed.
func TestProxyHangs(t *testing.T) {
	d := Docker(t)
	p := NewProxy(t, d)
	c := p.Client()
	p.Inject(Fault{On: "GET /version", Hang: true})
	short, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	if _, err := c.ServerVersion(short, client.ServerVersionOptions{}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("it answered: %v", err)
	}
	answered := make(chan error, 1)
	go func() {
		_, err := c.ServerVersion(t.Context(), client.ServerVersionOptions{})
		answered <- err
	}()
	until(t, "both requests are there", func() bool {
		return strings.Count(strings.Join(p.Requests(), " "), "GET /version") == 2
	})
	p.Heal()
	if err := <-answered; err != nil {
		t.Error(err)
	}
}

func TestProxyGoesDownAndComesUp(t *testing.T) {
	d := Docker(t)
	id := running(t, d)
	p := NewProxy(t, d)
	c := Connect(t, p.TCPHost)
	stream := execute(t, c, id, "sleep", "1000")
	p.Down()
	if out, _ := io.ReadAll(stream.Reader); len(out) != 0 {
		t.Errorf("the stream ended with %q", out)
	}
	for _, c := range []*client.Client{c, p.Client()} {
		if _, err := c.Ping(t.Context(), client.PingOptions{}); !client.IsErrConnectionFailed(err) {
			t.Errorf("it is down, and says %v", err)
		}
		if conn, err := c.Dialer()(t.Context()); !errors.Is(err, syscall.ECONNREFUSED) {
			t.Errorf("it is down, and gives %v, %v", conn, err)
		}
	}
	p.Up()
	for _, c := range []*client.Client{c, p.Client()} {
		if _, err := c.Ping(t.Context(), client.PingOptions{}); err != nil {
			t.Errorf("it is up again, and says %v", err)
		}
	}
}

// running is a container that waits.
func running(t *testing.T, d *client.Client) string {
	t.Helper()
	id := create(t, d, Busybox.In(t, d), "sleep", "1000")
	if _, err := d.ContainerStart(t.Context(), id, client.ContainerStartOptions{}); err != nil {
		t.Fatal(err)
	}
	return id
}

// execute is a command's stream, with the frames of its output.
func execute(t *testing.T, c *client.Client, id string, command ...string) client.HijackedResponse {
	t.Helper()
	made, err := c.ExecCreate(t.Context(), id, client.ExecCreateOptions{Cmd: command, AttachStdin: true, AttachStdout: true, AttachStderr: true})
	if err != nil {
		t.Fatal(err)
	}
	stream, err := c.ExecAttach(t.Context(), made.ID, client.ExecAttachOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(stream.Close)
	return stream.HijackedResponse
}

func until(t *testing.T, what string, f func() bool) {
	t.Helper()
	for deadline := time.Now().Add(30 * time.Second); !f(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("not even after 30 seconds: %s", what)
		}
	}
}
