// Package client is the HTTP API of a profile's gateway for programs in Go: what is sent and answered, as types, and a
// client that sends it.
//
//	c, err := client.New("http://127.0.0.1:8642", key, client.Options{})
//	result, err := c.Task("build").Exec(ctx, client.Exec{Line: "make"}, client.ExecOptions{Stdout: os.Stdout})
//
// A [Client] speaks to one gateway, a [Task] is one of its sandboxes. Commands and logs are followed through broken
// connections, byte for byte. What the gateway refuses is an [*Error], which [errors.Is] holds against the errors of
// package sandbox and of io/fs.
//
// The gateway itself answers with these types, so that there is one description of them. It is public: a field that is
// there stays there, and means what it meant.
package client
