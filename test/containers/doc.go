// Package containers is what tests of container engines stand on: clients of the real Docker Engine and
// Podman of this machine, images that need no registry, a proxy that spoils what a daemon says, a daemon
// of a test's own that may be stopped, and a list of what is left behind.
//
// Only tests import it. It never stops or restarts a daemon that it did not start, and removes nothing
// that it did not make.
package containers
