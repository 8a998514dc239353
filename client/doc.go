// Package client speaks to the HTTP API of a profile's gateway: sandboxes, commands, files, background processes and
// add-ons, from any program and any machine.
//
//	c, err := client.New("http://127.0.0.1:8642", key, client.Options{})
//	result, err := c.Sandbox("build").Exec(ctx, client.ExecRequest{Line: "make"}, client.Streams{Stdout: os.Stdout})
//
// A stream that breaks is taken up where it broke, byte for byte. What the API refuses is an [*Error], which
// [errors.Is] holds against the errors of package sandbox.
//
// The types of requests and answers are here, too, and the gateway uses the same ones. It imports nothing but them,
// and this package nothing of the gateway.
package client
