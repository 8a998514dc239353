// Package pyruntime carries the sources of the sealed Python runtime, which `make runtime` builds: for package sealed,
// which asks virtual environments of others what they have, and for tests, which build small runtimes of their own.
package pyruntime

import "embed"

// Describe prints, run by a Python interpreter, what its environment has: the JSON of a sealed.Description.
//
//go:embed describe.py
var Describe string

// Sources are build.py and what it needs beside a lock file.
//
//go:embed build.py describe.py activation host/hermes_host/*.py host/hermes_adapters/*.py
var Sources embed.FS
