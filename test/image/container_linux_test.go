package image

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"time"
)

// service is the user that services run as, in the words of "docker exec --user".
const service = "hermes"

// container is one of the image's.
type container struct {
	*engine
	name string
}

// exec runs a command in it, as root if no user is named.
func (c *container) exec(user string, words ...string) ended {
	c.t.Helper()
	args := []string{"exec"}
	if user != "" {
		args = append(args, "--user", user)
	}
	return c.call(append(append(args, c.name), words...)...)
}

// do is a command that has to succeed; it returns what it wrote, without the last newline.
func (c *container) do(user string, words ...string) string {
	c.t.Helper()
	r := c.exec(user, words...)
	if r.code != 0 {
		c.t.Fatalf("%s: %s\nthe container: %s", strings.Join(words, " "), r, tail(c.logs()))
	}
	return strings.TrimSuffix(r.stdout, "\n")
}

// logs is all that it wrote.
func (c *container) logs() string {
	c.t.Helper()
	r := c.call("logs", c.name)
	return r.stdout + r.stderr
}

// inspect is one field of its description.
func (c *container) inspect(format string) string {
	c.t.Helper()
	return c.must("inspect", "--format", format, c.name)
}

func (c *container) runs() bool { return c.inspect("{{.State.Running}}") == "true" }

// eventually waits until something holds, unless the container ends before.
func (c *container) eventually(what string, holds func() bool) {
	c.t.Helper()
	ticker := time.NewTicker(look)
	defer ticker.Stop()
	for end := time.Now().Add(bound); !holds(); <-ticker.C {
		if !c.runs() {
			c.t.Fatalf("it has ended, and not so: %s\n%s", what, tail(c.logs()))
		}
		if time.Now().After(end) {
			c.t.Fatalf("it never came: %s\n%s", what, tail(c.logs()))
		}
	}
}

const bootLog = "/opt/data/logs/container-boot.log"

// ready waits for the line that scripts wait for.
func (c *container) ready() {
	c.t.Helper()
	c.eventually("it is ready", func() bool { return c.exec("", "grep", "-qs", "profile=default", bootLog).code == 0 })
}

// restart is "docker restart", until it is ready again.
func (c *container) restart() {
	c.t.Helper()
	c.do("", "truncate", "--size", "0", bootLog)
	c.must("restart", c.name)
	c.ready()
}

// status is what the supervisor says of a service.
type status struct {
	Want, State string
	PID         int
}

func (c *container) status(service string) (s status) {
	c.t.Helper()
	r := c.exec("hermes", "hermes", "service", "status", "--json", service)
	if r.code != 0 {
		return s
	}
	if err := json.Unmarshal([]byte(r.stdout), &s); err != nil {
		c.t.Fatalf("%v: %s", err, r)
	}
	return s
}

// serves waits until a service can be used.
func (c *container) serves(service string) {
	c.t.Helper()
	c.eventually(service+" is ready", func() bool { return c.status(service).State == "ready" })
}

// processes is how many have a command line like this.
func (c *container) processes(pattern string) int {
	c.t.Helper()
	return len(regexp.MustCompile("(?m)^"+pattern+"$").FindAllString(c.do("", "ps", "-eo", "args="), -1))
}

// hermes is the command as somebody types it after "docker exec", who is root.
func (c *container) hermes(words ...string) ended {
	c.t.Helper()
	return c.exec("", append([]string{"hermes"}, words...)...)
}

// environ is the environment of a process.
func (c *container) environ(pid int) string {
	c.t.Helper()
	return "\x00" + c.do(service, "cat", fmt.Sprintf("/proc/%d/environ", pid))
}
