package sandbox_test

import (
	"context"
	"fmt"
	"os"
	"time"

	"hermes.example/hermes/sandbox"
)

// A server in the background, found again by its id, and ended with all that it
// started.
func ExampleSandbox_Start() {
	ctx := context.Background()
	manager, box := open("web", sandbox.Spec{})
	defer manager.Close()
	server, err := box.Start(ctx, sandbox.Background{
		Command: sandbox.Command{Line: "echo listening on 8080; exec sleep 1000"},
		Watch:   []string{"^listening on"},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	for event, err := range box.Events(ctx, 0) {
		fmt.Println(event.Kind, event.Line, err)
		break
	}
	again := box.Process(server.ID)
	again.Logs(ctx, sandbox.LogOptions{Lines: 10}, os.Stdout)
	result, err := again.Kill(ctx, time.Second)
	fmt.Println(result.Reason, result.Code, err)
	// Output:
	// match listening on 8080 <nil>
	// listening on 8080
	// killed 143 <nil>
}
