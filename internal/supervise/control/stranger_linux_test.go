package control

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"
)

// asUser is the variable that makes this program a client: its value is the socket.
const asUser = "CONTROL_TEST_CLIENT"

func TestMain(m *testing.M) {
	path := os.Getenv(asUser)
	if path == "" {
		os.Exit(m.Run())
	}
	if os.Getenv("HOLD") != "" {
		hold(path)
		return
	}
	c := Dial(path)
	_, err := c.Services(context.Background())
	fmt.Println(errors.Is(err, ErrForbidden), err)
}

func TestWhoMaySpeak(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can be others")
	}
	f, path := serve(t, 54322)
	for uid, want := range map[uint32]string{0: "false <nil>\n", 54322: "false <nil>\n", 54321: "true the supervisor does not take orders from this user; ask as root or as the service user\n"} {
		if got := asked(t, path, uid); got != want {
			t.Errorf("user %d is answered %q", uid, got)
		}
	}
	if len(f.calls) != 2 {
		t.Errorf("asked for %q", f.calls)
	}
}

func asked(t *testing.T, path string, uid uint32, env ...string) string {
	t.Helper()
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = append(env, asUser+"="+path)
	cmd.Dir = "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uid, Gid: uid}}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return string(out)
}

func TestStrangersTakeNobodysPlace(t *testing.T) { takesNobodysPlace(t) }

func TestAUserTakesNotThePlacesOfRoot(t *testing.T) { takesNobodysPlace(t, 54321) }

// takesNobodysPlace lets a user take all places that it can get while root speaks.
func takesNobodysPlace(t *testing.T, users ...int) {
	if os.Geteuid() != 0 {
		t.Skip("only root can be others")
	}
	_, path := serve(t, users...)
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = []string{asUser + "=" + path, "HOLD=1"}
	cmd.Dir = "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 54321, Gid: 54321}}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if held, err := bufio.NewReader(out).ReadString('\n'); held != "held\n" {
		t.Fatalf("%q, %v", held, err)
	}
	for range 20 {
		c := Dial(path)
		if _, err := c.Services(t.Context()); err != nil {
			t.Error(err)
		}
		c.Close()
	}
	in.Close()
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
}

// hold takes every place that it can get until its input ends. It says so when one was refused.
func hold(path string) {
	var last net.Conn
	for range 4 * mostConnections {
		conn, err := net.Dial("unix", path)
		if err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		defer conn.Close()
		_, _ = io.WriteString(conn, "GET /v1/serv") // it may be closed already
		last = conn
	}
	_ = last.SetReadDeadline(time.Now().Add(headerTime / 2))
	if _, err := last.Read(make([]byte, 1)); errors.Is(err, os.ErrDeadlineExceeded) {
		fmt.Println("all have a place")
		return
	}
	fmt.Println("held")
	_, _ = io.Copy(io.Discard, os.Stdin)
}
