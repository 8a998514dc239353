package daemon

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"strings"
	"syscall"
	"time"

	"github.com/moby/moby/client"
)

// ask pings the engine at a place. It asks for nothing else: for its version an engine runs programs of
// its own, which takes thirty times as long.
func (s *search) ask(ctx context.Context, p place) (Endpoint, *Error) {
	ctx, cancel := context.WithTimeout(ctx, s.Patience)
	defer cancel()
	began := time.Now()
	answer, agreed, err := p.ping(ctx)
	if err != nil {
		return Endpoint{}, s.failure(p, answer, err, time.Since(began))
	}
	found := Endpoint{Kind: answer.kind(), Host: p.host, From: p.from, APIVersion: answer.header.Get("Api-Version"), agreed: agreed, tls: p.tls}
	switch {
	case found.Kind == "":
		return Endpoint{}, s.fail(p, Unusable, nil, s.correct(p), "what answers there is neither Docker nor Podman")
	case p.must != "" && found.Kind != p.must:
		return Endpoint{}, s.mismatch(p, found.Kind)
	}
	return found, nil
}

// answer is what there is to see of a response.
type answer struct {
	status int
	header http.Header
}

// kind is told by the headers that each of the two puts on every response.
func (a answer) kind() Kind {
	switch {
	case a.header.Get("Libpod-Api-Version") != "" || strings.HasPrefix(a.header.Get("Server"), "Libpod/"):
		return Podman
	case a.header.Get("Api-Version") != "":
		return Docker
	}
	return ""
}

// ping asks for a sign of life, and which version of the API both sides speak.
func (p place) ping(ctx context.Context) (last answer, agreed string, err error) {
	// The client does not hand on what the kernel says of a socket.
	if path := socketPath(p.host); path != "" {
		conn, err := new(net.Dialer).DialContext(ctx, "unix", path)
		if err != nil {
			return last, "", err
		}
		conn.Close()
	}
	c, err := Endpoint{Host: p.host, tls: p.tls}.client(client.WithHTTPResponseHook(func(r *http.Response) {
		last = answer{r.StatusCode, r.Header}
	}))
	if err != nil {
		return last, "", err
	}
	defer c.Close()
	_, err = c.Ping(ctx, client.PingOptions{NegotiateAPIVersion: true})
	return last, c.ClientVersion(), err
}

// failure judges what went wrong.
func (s *search) failure(p place, a answer, err error, took time.Duration) *Error {
	var errno syscall.Errno
	var netErr net.Error
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return s.fail(p, NotFound, err, s.run(p), "there is nothing")
	case errors.Is(err, fs.ErrPermission), strings.HasPrefix(err.Error(), "permission denied"):
		return s.fail(p, NotAllowed, err, s.permit(p), "permission denied")
	case a.status == http.StatusUnauthorized, a.status == http.StatusForbidden:
		return s.fail(p, NotAllowed, err, "let Hermes through where the engine is guarded", "%v", err)
	case a.status >= http.StatusInternalServerError:
		return s.fail(p, NotAnswering, err, s.run(p), "%v", err)
	case a.status != 0:
		return s.fail(p, Unusable, err, s.correct(p), "%v", err)
	case isTLS(err):
		return s.fail(p, Unusable, err, "mend the certificates of "+p.from, "%v", core(err))
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &netErr) && netErr.Timeout():
		return s.fail(p, NotAnswering, err, s.run(p), "no answer within %v", took.Round(100*time.Millisecond))
	case errors.As(err, &errno):
		return s.fail(p, NotAnswering, err, s.run(p), "%v", errno)
	case strings.HasPrefix(err.Error(), "Cannot connect to the Docker daemon"):
		return s.fail(p, NotAnswering, err, s.run(p), "nobody listens")
	}
	return s.fail(p, NotAnswering, err, s.run(p), "%v", core(err))
}

// isTLS says whether the two sides do not trust or understand each other. What the other side says about
// it has no type.
func isTLS(err error) bool {
	return errors.Is(err, http.ErrSchemeMismatch) || strings.Contains(err.Error(), "tls: ") || strings.Contains(err.Error(), "TLS-enabled daemon without TLS")
}

// core is an error without the request that it ended, which is ours and says nothing.
func core(err error) error {
	var request *url.Error
	if errors.As(err, &request) {
		err = request.Err
	}
	if errors.Is(err, io.EOF) {
		return errors.New("it hung up")
	}
	return err
}

func (s *search) fail(p place, reason Reason, err error, fix, format string, args ...any) *Error {
	e := &Error{Reason: reason, Kind: p.kind, Host: p.host, Why: oneLine(fmt.Sprintf(format, args...)), Fix: fix, err: err}
	e.what = "reach " + p.kind.title() + " at " + p.host
	if p.from != usually {
		e.From = p.from
		e.what += " (" + p.from + ")"
	}
	return e
}

func (s *search) mismatch(p place, found Kind) *Error {
	fix := "set " + binary + "=" + string(found) + " to use it"
	if p.from != usually {
		fix += ", or correct " + p.from
	}
	return s.fail(p, Unusable, nil, fix, "%s answers there", found.title())
}

// correct is what to do about something that nobody can speak to.
func (s *search) correct(p place) string {
	if p.from == usually {
		return "update it, or set DOCKER_HOST to where another engine is"
	}
	return "correct " + p.from
}

// run is how an engine that is down comes back.
func (s *search) run(p place) string {
	switch {
	case p.start != "" && p.from == usually:
		return fmt.Sprintf("start it with %q and try again", p.start)
	case p.start != "":
		return fmt.Sprintf("start it with %q and try again, or correct %s", p.start, p.from)
	}
	return "start it there and try again, or correct " + p.from
}

// permit is how this user may use an engine.
func (s *search) permit(p place) string {
	switch {
	case p.kind == Podman:
		return fmt.Sprintf("start a service of your own with %q and try again", s.startPodman("$XDG_RUNTIME_DIR/podman/podman.sock"))
	case s.goos == "windows":
		return "join the group docker-users and log in again"
	}
	return `join its group with "sudo usermod -aG docker $USER" and log in again, or use Docker's rootless mode`
}
