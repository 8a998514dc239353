// Package sandbox gives an agent places in which its commands run: isolated,
// long-lived, and found again by any later process.
//
// A [Manager] hands out a [Sandbox] for an [Identity] (whose it is) and a [Spec]
// (what it is like), made by an [Engine]. Commands run with [Sandbox.Exec], each
// on its own, or in a [Session] that keeps directory, variables, functions and
// aliases from one to the next:
//
//	engine, err := native.New(native.Options{})
//	manager := sandbox.NewManager(engine, sandbox.Options{})
//	defer manager.Close()
//	box, err := manager.Ensure(ctx, sandbox.Identity{Home: home, Task: "build"}, sandbox.Spec{})
//	result, err := box.Exec(ctx, sandbox.Command{Line: "make", Stdout: os.Stdout})
//
// [Sandbox.Start] leaves a command running in the background: a [Process], with a
// log, which any later caller finds by its id. What happens to it can be had as
// an [Event].
//
// What is really enforced is in the sandbox's [Posture]; a Spec can demand parts
// of it, and then gets them or an error, never something weaker.
//
// An engine knows nothing of sessions, and a session knows nothing of engines:
// between them is the guest, PID 1 of every sandbox.
package sandbox
