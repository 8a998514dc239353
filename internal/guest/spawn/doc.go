// Package spawn starts the commands of a sandbox.
//
// It owns one operating-system thread, the spawner. The thread is prepared once
// (identity, capabilities, Landlock, seccomp, cgroup v1 membership, all of which
// Linux keeps per thread) and every command is forked from it, so a command is
// born with all restrictions and none has to be applied between fork and exec.
// Loading the filter anew for each command costs about as much as starting a
// shell; forking from a prepared thread costs nothing.
//
// The guest calls it. It must never run anything of its caller's on the spawner
// thread after the preparation, and never wait for a child: waiting is the
// reaper's.
package spawn
