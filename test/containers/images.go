//go:build linux

package containers

import (
	"slices"
	"time"
)

const searchPath = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// Debian is what most people use: bash, apt, libraries. Making it takes half a minute and the network, once.
var Debian = Image{name: "debian", layer: debian, config: config{Env: []string{searchPath}, Cmd: []string{"bash"}}}

// Busybox is small and has no bash.
var Busybox = Image{name: "busybox", layer: withShell(home()...), config: config{Env: []string{searchPath}, Cmd: []string{"sh"}}}

// Scratch holds one file of text: nothing in it can be run.
var Scratch = Image{name: "scratch", layer: only(file{name: "README", content: "Nothing here can be run.\n", mode: 0o644})}

// Init has an entrypoint as s6-overlay has it: a program that insists on being PID 1. It leaves a
// file when it was run.
var Init = Image{name: "init", layer: withShell(slices.Concat(home(), []file{
	{name: "run/"},
	{name: "init", content: "#!/bin/sh\n" +
		"[ $$ = 1 ] || { echo 'init: fatal: can only run as pid 1' >&2; exit 100; }\n" +
		"echo yes >/run/init-was-run\nexec \"$@\"\n"},
})...), config: config{Env: []string{searchPath}, Entrypoint: []string{"/init"}, Cmd: []string{"sh"}}}

// User is run as agent (1234), whom its passwd knows, in that user's home.
var User = Image{name: "user", layer: withShell(home()...), config: config{
	User: "agent", Env: []string{searchPath}, WorkingDir: "/home/agent", Cmd: []string{"sh"},
}}

// Bare has a shell and no directory that a sandbox counts on: no /tmp, /root, /etc, /var, /run, /workspace.
var Bare = Image{name: "bare", layer: withShell(), config: config{Env: []string{searchPath}, Cmd: []string{"sh"}}}

// Linked has links where a sandbox mounts: /workspace and /tmp lead elsewhere in the image, /root to
// nowhere; /var/tmp is a file. What is there cannot be written, even by its owner without rights of root.
var Linked = Image{name: "linked", layer: withShell(
	file{name: "srv/", mode: 0o555}, file{name: "srv/work/", mode: 0o555},
	file{name: "srv/work/from-image", content: "image\n", mode: 0o444},
	file{name: "workspace", link: "/srv/work"},
	file{name: "tmp", link: "srv/work"},
	file{name: "root", link: "/nowhere/at/all"},
	file{name: "var/", mode: 0o555}, file{name: "var/tmp", content: "a file\n", mode: 0o444},
	file{name: "etc/", mode: 0o555},
	file{name: "etc/passwd", content: "root:x:0:0:root:/root:/bin/sh\n", mode: 0o444},
), config: config{Env: []string{searchPath}, Cmd: []string{"sh"}}}

// Configured says everything that an image can say about how to run it.
var Configured = Image{name: "configured", layer: withShell(slices.Concat(home(), []file{
	{name: "data/"}, {name: "data/from-image", content: "image\n", mode: 0o644},
	{name: "srv/"}, {name: "srv/app/"}, {name: "opt/"}, {name: "opt/bin/"},
	{name: "opt/bin/tool", content: "#!/bin/sh\necho tool of the image\n"},
})...), config: config{
	Env:          []string{"PATH=/opt/bin:/bin", "COLOUR=green", "HOME=/srv/app", "EMPTY=", "EQUALS=a=b"},
	WorkingDir:   "/srv/app",
	Entrypoint:   []string{"/bin/sh", "-c"},
	Cmd:          []string{"echo command of the image"},
	Volumes:      map[string]struct{}{"/data": {}},
	ExposedPorts: map[string]struct{}{"8080/tcp": {}},
	Labels:       map[string]string{"colour": "green"},
	StopSignal:   "SIGINT",
	Healthcheck:  &healthcheck{Test: []string{"CMD", "/bin/touch", "/health-was-checked"}, Interval: time.Second},
}}

// Images is all of them.
var Images = []Image{Debian, Busybox, Scratch, Init, User, Bare, Linked, Configured}
