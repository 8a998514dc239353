package guest

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"hermes.example/hermes/internal/guest/spawn"
)

// prepare makes the process description: environment, directory, program.
func (s *Server) prepare(c *command) (*spawn.Command, error) {
	req := c.request
	sc := &spawn.Command{Files: make(map[int]int)}
	var sess *session
	if req.Session != "" {
		var err error
		if sess, err = s.session(req.Session); err != nil {
			return nil, err
		}
	}
	if err := s.place(c, sc, sess); err != nil {
		return sc, err
	}
	extra := req.Env
	if req.TTY != nil && req.TTY.Term != "" {
		extra = withDefault(extra, "TERM", req.TTY.Term)
	}
	switch {
	case req.Line != "" && s.shell.path == "":
		return sc, errNoShell
	case req.Line != "" && sess != nil:
		return sc, c.startFromSession(s, sc, sess, extra)
	case req.Line != "":
		sc.Path, sc.Argv = s.shell.path, []string{filepath.Base(s.shell.path), "-c", req.Line}
		if len(req.Line) >= maxArgument {
			if err := c.longLine(sc); err != nil {
				return sc, err
			}
		}
		sc.Env = mergeEnv(s.config.Env, extra)
	default:
		base := s.config.Env
		if sess != nil {
			base = sess.environment()
		}
		sc.Argv, sc.Env = req.Argv, mergeEnv(base, extra)
		var err error
		if sc.Path, err = lookPath(req.Argv[0], sc.Env, sc.Dir); err != nil {
			return sc, err
		}
	}
	return sc, nil
}

// maxArgument is the longest argument that Linux takes.
const maxArgument = 128 << 10

// longLine gives the shell a line that is too long for an argument as a file.
func (c *command) longLine(sc *spawn.Command) error {
	const fd = 9 // the highest that every shell can name
	file, err := memoryFile("line")
	if err != nil {
		return err
	}
	c.script = file
	sc.Files[fd] = int(file.Fd())
	sc.Argv[2] = ". /proc/self/fd/" + strconv.Itoa(fd)
	_, err = file.WriteString("exec " + strconv.Itoa(fd) + "<&-;" + c.request.Line)
	return err
}

// place decides the working directory. One that the caller names must exist; one
// that the session remembers may have been removed since.
func (s *Server) place(c *command, sc *spawn.Command, sess *session) error {
	remembered, env := s.config.Cwd, s.config.Env
	if sess != nil {
		remembered, env = sess.directory(), sess.environment()
	}
	want := c.request.Cwd
	switch {
	case want == "":
		existing := nearestDirectory(remembered)
		if existing != remembered {
			c.fallback = existing
		}
		sc.Dir = existing
		return nil
	case want == "~":
		want = lookup(env, "HOME")
	case strings.HasPrefix(want, "~/"):
		want = filepath.Join(lookup(env, "HOME"), want[2:])
	case !filepath.IsAbs(want):
		want = filepath.Join(remembered, want)
	}
	if info, err := os.Stat(want); err != nil || !info.IsDir() {
		return &directoryError{want}
	}
	sc.Dir = want
	return nil
}

func nearestDirectory(path string) string {
	for path != "/" {
		if info, err := os.Stat(path); err == nil && info.IsDir() {
			return path
		}
		path = filepath.Dir(path)
	}
	return "/"
}
