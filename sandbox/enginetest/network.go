package enginetest

import (
	"bytes"
	"fmt"
	"net"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"

	"hermes.example/hermes/sandbox"
)

var networkTests = []test{
	{"network/none has a loopback device and no route", networkNone},
	{"network/none does not reach the host's loopback", networkLoopback},
	{"network/host is the host's and a deviation", networkHost},
	{"network/host does not open the host's abstract sockets", abstractSockets},
}

func networkNone(t *testing.T, s *suite) {
	s.need(t, OwnNetwork)
	b := s.box(t)
	b.says("sed 1,2d /proc/net/dev | cut -d: -f1 | tr -d ' '", "lo")
	b.says("sed 1d /proc/net/route", "")
	if fact := b.facts()[sandbox.FactNetwork]; fact.Value != "none" || !fact.Enforced || fact.Deviation != "" {
		t.Errorf("the posture says %+v", fact)
	}
	// The device is up: a port that nobody listens on refuses, it does not vanish.
	if o := b.line("exec 3<>/dev/tcp/127.0.0.1/9"); !strings.Contains(o.Out, "refused") {
		t.Errorf("the loopback device is not up: %q", o.Out)
	}
	if o := b.line("exec 3<>/dev/tcp/192.0.2.1/9"); !strings.Contains(o.Out, "unreachable") {
		t.Errorf("another address is not unreachable: %q", o.Out)
	}
}

// answering listens on the host's loopback and says "hello".
func answering(t *testing.T, network, address string) net.Listener {
	t.Helper()
	l, err := net.Listen(network, address)
	if err != nil {
		t.Skipf("cannot listen here: %v", err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			fmt.Fprintln(conn, "hello")
			conn.Close()
		}
	}()
	return l
}

func networkLoopback(t *testing.T, s *suite) {
	s.need(t, OwnNetwork)
	port := answering(t, "tcp", "127.0.0.1:0").Addr().(*net.TCPAddr).Port
	dial := fmt.Sprintf("exec 3<>/dev/tcp/127.0.0.1/%d && cat <&3", port)
	s.box(t, func(spec *sandbox.Spec) { spec.Network = sandbox.NetworkHost }).says(dial, "hello") // the control
	if o := s.box(t).line(dial); o.Code == 0 || !strings.Contains(o.Out, "refused") {
		t.Errorf("it answers %q", o.Out)
	}
}

func networkHost(t *testing.T, s *suite) {
	b := s.box(t, func(spec *sandbox.Spec) { spec.Network = sandbox.NetworkHost })
	if fact := b.facts()[sandbox.FactNetwork]; fact.Value != "host" || fact.Enforced || fact.Deviation == "" {
		t.Errorf("the posture says %+v", fact)
	}
	posture, err := b.Posture(bounded(t))
	if err != nil || !strings.Contains(fmt.Sprint(posture.Deviations()), "network") {
		t.Errorf("the deviations are %v, %v", posture.Deviations(), err)
	}
	if own, err := os.Readlink("/proc/self/ns/net"); err == nil {
		b.says("readlink /proc/self/ns/net", own)
	}
}

func abstractSockets(t *testing.T, s *suite) {
	if runtime.GOOS != "linux" {
		t.Skip("abstract sockets are Linux's")
	}
	b := s.box(t, func(spec *sandbox.Spec) { spec.Network = sandbox.NetworkHost })
	if fact := b.facts()[sandbox.FactLandlock]; !fact.Enforced || fact.Deviation != "" {
		t.Skipf("not scoped here, and the posture says so: %s %s", fact.Value, fact.Deviation)
	}
	name := fmt.Sprintf("@hermes-enginetest-%d", os.Getpid())
	answering(t, "unix", name)
	program, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		t.Fatal(err)
	}
	b.run(sandbox.Command{Line: "cat >/tmp/inside && chmod +x /tmp/inside", Stdin: bytes.NewReader(program)}).ended(0, sandbox.Exited)
	env := map[string]string{roleVariable: roleInside}
	control := exec.Command("/proc/self/exe", "dial", "unix", name)
	control.Env = append(os.Environ(), roleVariable+"="+roleInside)
	if out, err := control.CombinedOutput(); err != nil || string(out) != "hello\n" {
		t.Fatalf("not shown: the same program outside says %q, %v", out, err)
	}
	if o := b.run(sandbox.Command{Argv: []string{"/tmp/inside", "dial", "unix", name}, Env: env}); o.Code != 1 || !strings.Contains(o.Out, "operation not permitted") {
		t.Errorf("inside it says %q with status %d", o.Out, o.Code)
	}
}

// inside is what the suite's own program does in a sandbox.
func inside(args []string) int {
	if len(args) != 3 || args[0] != "dial" {
		fmt.Fprintf(os.Stderr, "unknown errand %q\n", args)
		return 2
	}
	conn, err := net.Dial(args[1], args[2])
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer conn.Close()
	var said bytes.Buffer
	if _, err := said.ReadFrom(conn); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	os.Stdout.Write(said.Bytes())
	return 0
}
