package client_test

import (
	"context"
	"flag"
	"fmt"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"hermes.example/hermes/client"
	"hermes.example/hermes/internal/configured"
	"hermes.example/hermes/internal/gateway/api"
	"hermes.example/hermes/sandbox"
)

// TestMain leaves the examples out where no native sandbox can be made, and says why.
func TestMain(m *testing.M) {
	address, key, stop := serve()
	c, err := client.New(address, key, client.Options{})
	if err == nil {
		_, err = c.Task("probe").Ensure(context.Background(), client.SandboxSpec{})
	}
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "the examples are left out:", err)
		flag.Parse()
		flag.Set("test.skip", "^Example")
	}
	os.Exit(m.Run())
}

// quiet is the gateway of the examples.
type quiet struct{}

func (quiet) Status() client.GatewayStatus { return client.GatewayStatus{State: "running"} }
func (quiet) Healthy() bool                { return true }
func (quiet) Restart() error               { return nil }

// serve serves the API over real sandboxes, in a home of its own.
func serve() (address, key string, stop func()) {
	home, err := os.MkdirTemp("", "hermes-client-")
	if err != nil {
		panic(err)
	}
	os.Setenv("XDG_RUNTIME_DIR", home)
	boxes, err := configured.OpenSandboxes(configured.Options{Lookup: func(name string) (string, bool) {
		value, ok := map[string]string{"HERMES_HOME": home, "TERMINAL_ENV": "native"}[name]
		return value, ok
	}})
	if err != nil {
		panic(err)
	}
	server := httptest.NewServer(api.New(api.Options{Gateway: quiet{}, Open: func() (api.Sandboxes, error) { return boxes, nil }}).Handler())
	return server.URL, "the key", func() {
		server.Close()
		boxes.Manager().Prune(context.Background(), home, true)
		boxes.Close()
		os.RemoveAll(home)
	}
}

// A command in the sandbox of a task, which is made for it. The address and the key are those of a gateway.
func Example() {
	address, key, stop := serve()
	defer stop()

	ctx := context.Background()
	c, err := client.New(address, key, client.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	result, err := c.Task("build").Exec(ctx, client.Exec{Line: "echo hello from $PWD; exit 3"}, client.ExecOptions{Stdout: os.Stdout})
	fmt.Println(result.Code, result.Reason, err)
	// Output:
	// hello from /workspace
	// 3 exit <nil>
}

// Files go in and come out with the rights of the sandbox's commands.
func ExampleFiles() {
	address, key, stop := serve()
	defer stop()

	ctx := context.Background()
	c, _ := client.New(address, key, client.Options{})
	files := c.Task("build").Files()
	n, err := files.Write(ctx, "greeting", strings.NewReader("hello\n"), sandbox.WriteOptions{})
	fmt.Println(n, err)
	content, err := files.ReadFile(ctx, "greeting", 1<<10)
	fmt.Printf("%q %v\n", content, err)
	// Output:
	// 6 <nil>
	// "hello\n" <nil>
}

// A process in the background goes on when its caller is gone, and is found again by its id.
func ExampleProcess() {
	address, key, stop := serve()
	defer stop()

	ctx := context.Background()
	c, _ := client.New(address, key, client.Options{})
	p, _, err := c.Task("build").Start(ctx, client.ProcessRequest{Line: "read name; echo hello $name", Input: true}, "greeter")
	if err != nil {
		fmt.Println(err)
		return
	}
	p.Write(ctx, []byte("world\n"))
	p.Logs(ctx, sandbox.LogOptions{Follow: true}, os.Stdout)
	result, err := p.Wait(ctx)
	fmt.Println(result.Code, err)
	// Output:
	// hello world
	// 0 <nil>
}
