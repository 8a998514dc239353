package house

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"hermes.example/hermes/internal/profile"
	"hermes.example/hermes/internal/roster"
	"hermes.example/hermes/internal/supervise"
	"hermes.example/hermes/internal/supervise/control"
	"hermes.example/hermes/internal/supervise/reaper"
	"hermes.example/hermes/internal/survey"
)

// supervisorOf is the variable that makes this program the supervisor of a home: its reaper waits for every child, and so
// it must have no others.
const supervisorOf = "HOUSE_TEST_SUPERVISOR"

func TestMain(m *testing.M) {
	if root := os.Getenv(supervisorOf); root != "" {
		if err := supervise1(root); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// nobody is who services run as where the tests are root's.
const nobody = 65534

// kept are the services of the tests, besides gateways, and whether they are to run from the beginning.
var kept = []struct {
	name, line string
	up         bool
}{
	{"steady", "echo here I am; exec sleep 1000", true},
	{"misled", "echo the key is missing; exit 78", true},
	// These end when nobody takes what they say: no supervisor, however it ended, leaves one behind.
	{"flood", "long=$(printf '%0500d' 0); while seq -f \"line %.0f $long\" 1000; do sleep 0.1; done", false},
	{"chatty", "while seq -f 'line %.0f of what it has to say, which is a lot' 1000; do sleep 0.1; done", false},
}

// supervise1 keeps services until its input ends.
func supervise1(root string) error {
	if err := reaper.Subreaper(); err != nil {
		return err
	}
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	s := supervise.New(supervise.Options{Reaper: reaper.New(), Output: io.Discard, Volume: root})
	service := func(name, line string) supervise.Service {
		one := supervise.Service{Name: name, Argv: []string{"/bin/sh", "-c", line}, Env: []string{"PATH=" + os.Getenv("PATH")}, Dir: "/",
			Log: filepath.Join(root, "logs", name), Stop: supervise.Stopping{Grace: 1}}
		if os.Geteuid() == 0 {
			one.User = &supervise.User{UID: nobody, GID: nobody}
		}
		return one
	}
	all := roster.New(roster.Options{Home: &profile.Home{Root: root}, Driver: s, Gateway: func(name string) supervise.Service {
		return service("", "echo the gateway of "+name+"; exec sleep 1000")
	}})
	if err := all.Register(ctx, profile.Default, true); err != nil {
		return err
	}
	for _, k := range kept {
		if err := s.Register(ctx, service(k.name, k.line), k.up); err != nil {
			return err
		}
	}
	l, err := control.Listen(filepath.Join(root, "run", control.SocketName))
	if err != nil {
		return err
	}
	served := make(chan error, 1)
	go func() { served <- control.Serve(ctx, l, all, slog.New(slog.DiscardHandler)) }()
	fmt.Println("ready")
	io.Copy(io.Discard, os.Stdin)
	stop()
	if left := s.Shutdown(context.Background()); left != nil {
		return fmt.Errorf("survivors: %+v", left)
	}
	return <-served
}

// supervised starts a supervisor of a home, which ends with the test.
func supervised(t *testing.T, root string) survey.Supervised {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), supervisorOf+"="+root)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // what ends this test as a group must not keep it from ending its services
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		in.Close()
		rest, _ := io.ReadAll(out)
		if err := cmd.Wait(); err != nil {
			t.Errorf("the supervisor: %v: %s", err, rest)
		}
	})
	first := make([]byte, 6)
	if _, err := io.ReadFull(out, first); err != nil || string(first) != "ready\n" {
		t.Fatalf("the supervisor says %q: %v", first, err)
	}
	return func(ctx context.Context, do func(control.Operations) error) error {
		client := control.Dial(filepath.Join(root, "run", control.SocketName))
		defer client.Close()
		return do(client)
	}
}
