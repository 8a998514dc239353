package containerargs

import (
	"errors"
	"slices"
)

// refused are flags of docker run that a sandbox cannot have: why, and what to do
// instead.
var refused = map[string]string{
	"rm":                    "Hermes decides when a sandbox goes; for one that keeps nothing set container_persistent: false",
	"detach":                "every sandbox runs in the background; leave it out",
	"detach-keys":           "nobody is attached to a sandbox; leave it out",
	"interactive":           "commands have an input of their own; leave it out",
	"tty":                   "commands have a terminal of their own; use hermes sandbox shell",
	"attach":                "nobody is attached to a sandbox; leave it out",
	"sig-proxy":             "nobody is attached to a sandbox; leave it out",
	"name":                  "a sandbox is found by its name, which is made of home, profile and task; give a task",
	"cidfile":               "a sandbox is found by its name; use hermes sandbox ls --json",
	"entrypoint":            "Hermes' own guest is the first process; run what you need with hermes sandbox start",
	"stop-signal":           "Hermes' own guest is the first process, and ends commands as they need it; leave it out",
	"stop-timeout":          "Hermes' own guest is the first process, and ends commands as they need it; leave it out",
	"health-cmd":            "Hermes asks its guest; leave it out",
	"health-interval":       "Hermes asks its guest; leave it out",
	"health-retries":        "Hermes asks its guest; leave it out",
	"health-start-period":   "Hermes asks its guest; leave it out",
	"health-start-interval": "Hermes asks its guest; leave it out",
	"health-timeout":        "Hermes asks its guest; leave it out",
	"pid":                   "Hermes' own guest has to be the first process, to find and end what commands leave; leave it out",
	"platform":              "the guest that runs inside is of the engine's own architecture; choose an image of it",
	"isolation":             "it is for containers of Windows; leave it out",
	"link":                  "engines have given it up; use --network with the name of a network",
	"link-local-ip":         "it is not part of a sandbox; use --ip",
	"publish-all":           "which ports are open from outside has to be written down; use --publish",
	"volumes-from":          "what is mounted has to be written down; use --volume",
	"volume-driver":         "it is not part of a sandbox; make the volume with its driver, and name it in --volume",
	"use-api-socket":        "it gives the engine, and with it the host, to commands; leave it out, or mount the socket by --volume",
	"label-file":            "labels have to be written down; use --label",
	"oom-kill-disable":      "a sandbox at its memory limit would hang for ever; give it more by --memory",
	"kernel-memory":         "engines have given it up; use --memory",
	"memory-swappiness":     "it is not part of a sandbox; use --memory-swap",
	"cpu-period":            "it is not part of a sandbox; use --cpus",
	"cpu-quota":             "it is not part of a sandbox; use --cpus",
	"cpu-rt-period":         "it is not part of a sandbox; use --cpus",
	"cpu-rt-runtime":        "it is not part of a sandbox; use --cpus",
	"cpu-count":             "it is for containers of Windows; use --cpus",
	"cpu-percent":           "it is for containers of Windows; use --cpus",
	"io-maxbandwidth":       "it is for containers of Windows; leave it out",
	"io-maxiops":            "it is for containers of Windows; leave it out",
	"blkio-weight":          "it is not part of a sandbox; bound the engine itself",
	"blkio-weight-device":   "it is not part of a sandbox; bound the engine itself",
	"device-read-bps":       "it is not part of a sandbox; bound the engine itself",
	"device-read-iops":      "it is not part of a sandbox; bound the engine itself",
	"device-write-bps":      "it is not part of a sandbox; bound the engine itself",
	"device-write-iops":     "it is not part of a sandbox; bound the engine itself",
	"disable-content-trust": "images are fetched without it; leave it out",
	"quiet":                 "it is about what docker run prints; leave it out",
	"help":                  "it is about what docker run prints; leave it out",
}

// Of those that are refused some have no value, and some have a letter.
var (
	withoutValue = []string{"rm", "detach", "interactive", "tty", "sig-proxy", "publish-all", "use-api-socket", "oom-kill-disable", "disable-content-trust", "quiet", "help"}
	letters      = map[string]string{"detach": "d", "interactive": "i", "tty": "t", "attach": "a", "publish-all": "P", "quiet": "q"}
)

// refusals are flags that are errors.
func refusals() []flag {
	var list []flag
	for name, why := range refused {
		f := flag{name: name, short: letters[name], set: func(string) error { return errors.New(why) }}
		if slices.Contains(withoutValue, name) {
			f.boolean, f.set = true, whenOn(f.set)
		}
		list = append(list, f)
	}
	return list
}

// whenOn is for a switch that does something only when it is on.
func whenOn(do func(string) error) func(string) error {
	return func(value string) error {
		var on bool
		if err := toggle(&on)(value); err != nil || !on {
			return err
		}
		return do(value)
	}
}

// effectless are flags that ask for what a sandbox has, or for what makes no
// difference to it.
func (p *parser) effectless() []flag {
	tell := func(name, why string) func(string) error {
		return func(string) error {
			p.warn("--%s has no effect: %s", name, why)
			return nil
		}
	}
	return []flag{
		{name: "init", boolean: true, set: whenOn(tell("init", "the first process of every sandbox is Hermes' own, which does an init's work"))},
		{name: "no-healthcheck", boolean: true, set: whenOn(tell("no-healthcheck", "no sandbox has the health check of its image"))},
		{name: "log-driver", set: tell("log-driver", "what commands print does not go through the engine's log")},
		{name: "log-opt", set: tell("log-opt", "what commands print does not go through the engine's log")},
		{name: "expose", set: tell("expose", "only --publish opens a port")},
		{name: "restart", set: exactly("no", "Hermes starts a sandbox again when it is used; leave it out")},
		{name: "pull", set: exactly("missing", "Hermes fetches an image when it is missing; fetch a newer one with docker pull")},
	}
}

// exactly takes the one value that changes nothing.
func exactly(usual, why string) func(string) error {
	return func(value string) error {
		if value != usual {
			return errors.New(why)
		}
		return nil
	}
}
