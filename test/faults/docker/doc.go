// Package docker breaks what the Docker engine stands on, and looks at what is left: the
// daemon, its answers, its streams, containers under a caller's hands, and callers
// themselves. Every test uses a real daemon; what must not harm others has one of its own.
package docker
