// Package lifeline is a service's half of not outliving its supervisor: a pipe whose other end only the supervisor
// has, and which the kernel closes with it, however that ended.
//
// The gateway and the dashboard hold it where there is one. A container needs none: its PID 1 takes all with it.
package lifeline

// Variable names the descriptor.
const Variable = "HERMES_LIFELINE_FD"
