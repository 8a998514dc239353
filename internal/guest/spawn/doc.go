// Package spawn starts the commands of a sandbox.
//
// It owns one operating-system thread, the spawner. The thread is prepared once
// with what Linux keeps per thread: capabilities, Landlock, the system call
// filter, cgroup v1 membership. Every command is forked from it and so is born
// with all of these. Loading the filter anew in each command would cost a third
// of what starting a shell does.
//
// The fork is a vfork: copying the guest's page tables for each command would
// cost more than half of what starting a shell does.
//
// The guest calls it. It must never run anything of its caller's on the spawner
// thread after the preparation, and never wait for a child: waiting is the
// reaper's.
package spawn
