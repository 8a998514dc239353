package control

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/goccy/go-yaml"

	"hermes.example/hermes/internal/supervise"
)

const bound = 30 * time.Second

// fake does nothing, and remembers what it was asked for.
type fake struct {
	mu    sync.Mutex
	calls []string
	err   error
	sick  bool
}

func (f *fake) did(format string, args ...any) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.calls = append(f.calls, fmt.Sprintf(format, args...))
	return f.err
}

var known = supervise.Status{Name: "gateway-x", Want: "up", State: supervise.Ready, PID: 42, Since: time.Unix(1, 5).UTC(), Reason: "r", Restarts: 3,
	Next: time.Unix(2, 0).UTC(), Last: &supervise.Exit{Code: 137, Signal: "SIGKILL", At: time.Unix(3, 0).UTC()}}

func (f *fake) Services(context.Context) ([]supervise.Status, error) {
	return []supervise.Status{known, {Name: "other", State: supervise.Down}}, f.did("services")
}
func (f *fake) Service(_ context.Context, n string) (supervise.Status, error) {
	return known, f.did("service %s", n)
}
func (f *fake) Start(_ context.Context, n string) error   { return f.did("start %s", n) }
func (f *fake) Stop(_ context.Context, n string) error    { return f.did("stop %s", n) }
func (f *fake) Restart(_ context.Context, n string) error { return f.did("restart %s", n) }
func (f *fake) Wait(ctx context.Context, n string) (supervise.Status, error) {
	if n == "never" {
		<-ctx.Done()
		return known, fmt.Errorf("cannot wait: %w", ctx.Err())
	}
	return known, f.did("wait %s", n)
}
func (f *fake) Register(_ context.Context, p string, start bool) error {
	return f.did("register %s %t", p, start)
}
func (f *fake) Unregister(_ context.Context, p string) error { return f.did("unregister %s", p) }
func (f *fake) Log(ctx context.Context, n string, lines int, follow bool) (io.ReadCloser, error) {
	r, w := io.Pipe()
	go func() {
		fmt.Fprintf(w, "%s %d %t\n", n, lines, follow)
		if follow {
			<-ctx.Done()
		}
		w.Close()
	}()
	return r, f.did("log %s %d %t", n, lines, follow)
}
func (f *fake) Health(context.Context) (Health, error) {
	if f.sick {
		return Health{Reasons: []string{"gateway-x is parked"}}, f.did("health")
	}
	return Health{Healthy: true}, f.did("health")
}

// serve serves a fake on a socket until the test ends.
func serve(t *testing.T, users ...int) (*fake, string) {
	t.Helper()
	dir, err := os.MkdirTemp("", "control")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "hermes", SocketName)
	l, err := Listen(path, users...)
	if err != nil {
		t.Fatal(err)
	}
	f := new(fake)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error)
	go func() { done <- Serve(ctx, l, f, slog.New(slog.DiscardHandler)) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
		if _, err := os.Lstat(path); !os.IsNotExist(err) {
			t.Errorf("the socket is left: %v", err)
		}
	})
	return f, path
}

func client(t *testing.T, path string) *Client {
	c := Dial(path)
	t.Cleanup(c.Close)
	return c
}

var _ Operations = (*Client)(nil)

func TestEveryCallArrives(t *testing.T) {
	f, path := serve(t)
	c, ctx := client(t, path), t.Context()
	all, err := c.Services(ctx)
	if err != nil || len(all) != 2 || !reflect.DeepEqual(all[0], known) {
		t.Errorf("%+v, %v", all, err)
	}
	if st, err := c.Service(ctx, "gateway-x"); err != nil || !reflect.DeepEqual(st, known) {
		t.Errorf("%+v, %v", st, err)
	}
	for _, err := range []error{c.Start(ctx, "a"), c.Stop(ctx, "b"), c.Restart(ctx, "c"), c.Register(ctx, "p", true), c.Register(ctx, "p", false), c.Unregister(ctx, "../p")} {
		if err != nil {
			t.Error(err)
		}
	}
	if st, err := c.Wait(ctx, "x"); err != nil || st.Name != known.Name {
		t.Errorf("%+v, %v", st, err)
	}
	r, err := c.Log(ctx, "x", -1, false)
	if err != nil {
		t.Fatal(err)
	}
	if text, err := io.ReadAll(r); string(text) != "x -1 false\n" || err != nil {
		t.Errorf("the log is %q, %v", text, err)
	}
	r.Close()
	if h, err := c.Health(ctx); err != nil || !h.Healthy {
		t.Errorf("%+v, %v", h, err)
	}
	f.sick = true
	if h, err := c.Health(ctx); err != nil || h.Healthy || h.Reasons[0] != "gateway-x is parked" {
		t.Errorf("%+v, %v", h, err)
	}
	want := []string{"services", "service gateway-x", "start a", "service a", "stop b", "service b", "restart c", "service c",
		"register p true", "register p false", "unregister ../p", "service x", "log x -1 false", "health", "health"}
	if !slices.Equal(f.calls, want) {
		t.Errorf("asked for %q", f.calls)
	}
}

func TestErrorsTravelAsWhatTheyAre(t *testing.T) {
	f, path := serve(t)
	c, ctx := client(t, path), t.Context()
	for _, kind := range []error{supervise.ErrNotRegistered, supervise.ErrRegistered, supervise.ErrClosed} {
		f.err = fmt.Errorf("cannot do it: %w; do that", kind)
		for _, err := range []error{c.Start(ctx, "x"), c.Register(ctx, "x", true), c.Unregister(ctx, "x")} {
			if !errors.Is(err, kind) || err.Error() != f.err.Error() {
				t.Errorf("%v became %v", f.err, err)
			}
		}
		if _, err := c.Log(ctx, "x", 1, true); !errors.Is(err, kind) {
			t.Errorf("%v became %v", f.err, err)
		}
		if _, err := c.Health(ctx); !errors.Is(err, kind) {
			t.Errorf("%v became %v", f.err, err)
		}
	}
	f.err = errors.New("cannot do it: the disk is full")
	var e *Error
	if err := c.Start(ctx, "x"); !errors.As(err, &e) || e.Code != "internal" || err.Error() != f.err.Error() {
		t.Errorf("it became %v", err)
	}
}

func TestWaiting(t *testing.T) {
	f, path := serve(t)
	for query, want := range map[string]int{"?wait=10s": 200, "?wait=1x": 400, "?wait=-1s": 400, "?wait=6m": 400, "": 200} {
		if status, _ := ask(t, path, "POST /v1/services/x/start"+query+" HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"); status != want {
			t.Errorf("%q: %d", query, status)
		}
	}
	if !slices.Contains(f.calls, "wait x") {
		t.Errorf("asked for %q", f.calls)
	}
	if status, body := ask(t, path, "POST /v1/services/never/stop?wait=50ms HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"); status != 504 || !strings.Contains(body, `"timeout"`) {
		t.Errorf("%d %s", status, body)
	}
}

// ask sends a request as it is.
func ask(t *testing.T, path, request string) (status int, body string) {
	t.Helper()
	conn, err := net.Dial("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	conn.SetDeadline(time.Now().Add(bound))
	if _, err := io.WriteString(conn, request); err != nil {
		return 0, err.Error()
	}
	answer, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		return 0, err.Error()
	}
	defer answer.Body.Close()
	text, _ := io.ReadAll(answer.Body)
	return answer.StatusCode, string(text)
}

func TestALogIsFollowedUntilTheClientLeaves(t *testing.T) {
	_, path := serve(t)
	ctx, cancel := context.WithCancel(t.Context())
	r, err := client(t, path).Log(ctx, "x", 5, true)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	line, err := bufio.NewReader(r).ReadString('\n')
	if line != "x 5 true\n" || err != nil {
		t.Errorf("%q, %v", line, err)
	}
	cancel()
	if _, err := io.ReadAll(r); err == nil {
		t.Error("it ends as if the log had")
	}
}

// The time that a request may take must not end what it asked for.
func TestALongAnswerOutlivesTheRequest(t *testing.T) {
	l, err := Listen(filepath.Join(t.TempDir(), "hermes", "s"))
	if err != nil {
		t.Fatal(err)
	}
	s := server(t.Context(), new(fake), slog.New(slog.DiscardHandler))
	s.ReadTimeout = 100 * time.Millisecond
	go s.Serve(l)
	defer s.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 5*s.ReadTimeout)
	defer cancel()
	r, err := client(t, l.Addr().String()).Log(ctx, "x", 5, true)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if _, err := io.ReadAll(r); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("the server ended it: %v", err)
	}
}

func TestOddRequestsAreRefused(t *testing.T) {
	f, path := serve(t)
	for request, want := range map[string]int{
		"GET /v1/nothing HTTP/1.1\r\nHost: x\r\n\r\n":                              404,
		"GET / HTTP/1.1\r\nHost: x\r\n\r\n":                                        404,
		"POST /v1/services HTTP/1.1\r\nHost: x\r\n\r\n":                            405,
		"GET /v1/services/x/start HTTP/1.1\r\nHost: x\r\n\r\n":                     405,
		"nonsense\r\n\r\n":                                                         400,
		"PUT /v1/gateways/x HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\n[1,2]": 400,
		"PUT /v1/gateways/x HTTP/1.1\r\nHost: x\r\nContent-Length: 9000\r\n\r\n{" + strings.Repeat(" ", 8986) + "\"start\":true}": 400,
		"GET /v1/services/x/log?lines=ten HTTP/1.1\r\nHost: x\r\n\r\n":                                                            400,
		"GET /v1/services/x/log?lines=1000001 HTTP/1.1\r\nHost: x\r\n\r\n":                                                        400,
		"GET /v1/services HTTP/1.1\r\nHost: x\r\nA: " + strings.Repeat("x", 100_000) + "\r\n\r\n":                                 431,
	} {
		if status, body := ask(t, path, request); status != want {
			t.Errorf("%.60q: %d %s", request, status, body)
		}
	}
	if len(f.calls) > 0 {
		t.Errorf("asked for %q", f.calls)
	}
}

func TestFloodsAndHalfRequestsStopNobody(t *testing.T) {
	_, path := serve(t)
	for range 2 * mostConnections {
		conn, err := net.Dial("unix", path)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		io.WriteString(conn, "GET /v1/serv") // and never the rest
	}
	// Places become free as soon as those who take them have had their time.
	var err error
	for end := time.Now().Add(bound); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		c := Dial(path)
		_, err = c.Services(t.Context())
		c.Close()
		if err == nil {
			return
		}
	}
	t.Error(err)
}

func TestThereAreOnlySoManyConnections(t *testing.T) {
	_, path := serve(t)
	var conns []net.Conn
	for range mostConnections + 1 {
		conn, err := net.Dial("unix", path)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		_, _ = io.WriteString(conn, "GET /v1/serv") // it may be closed already
		conns = append(conns, conn)
	}
	// They are taken in turn: when the last one is closed, all have been looked at.
	last := conns[mostConnections]
	last.SetReadDeadline(time.Now().Add(headerTime / 2))
	if _, err := last.Read(make([]byte, 1)); err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("one too many has a place: %v", err)
	}
	for i, conn := range conns[:mostConnections] {
		conn.SetReadDeadline(time.Now().Add(time.Millisecond))
		if _, err := conn.Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Fatalf("number %d has none: %v", i, err)
		}
	}
}

func TestNoSupervisor(t *testing.T) {
	path := filepath.Join(t.TempDir(), "socket")
	if _, err := client(t, path).Services(t.Context()); !errors.Is(err, ErrUnreachable) || !strings.Contains(err.Error(), path) {
		t.Errorf("the error is %v", err)
	}
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	l.(*net.UnixListener).SetUnlinkOnClose(false)
	l.Close()
	if _, err := client(t, path).Services(t.Context()); !errors.Is(err, ErrUnreachable) {
		t.Errorf("the error is %v", err)
	}
}

func TestAnotherVersionIsNamed(t *testing.T) {
	path := filepath.Join(t.TempDir(), "socket")
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	says := ""
	s := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if says != "" {
			w.Header().Set(versionHeader, says)
		}
		io.WriteString(w, `{"services":[{"name":"x","state":"levitating","new":{}}],"more":1}`)
	})}
	go s.Serve(l)
	defer s.Close()
	for _, says = range []string{"", "2"} {
		if _, err := client(t, path).Services(t.Context()); err == nil || !strings.Contains(err.Error(), fmt.Sprintf("it speaks version %q and this is %q", says, "1")) {
			t.Errorf("the error is %v", err)
		}
	}
	says = "1"
	if all, err := client(t, path).Services(t.Context()); err != nil || all[0].State != "levitating" {
		t.Errorf("%v, %v", all, err)
	}
}

func TestTheSocketsPlaceIsChecked(t *testing.T) {
	base := t.TempDir()
	open := filepath.Join(base, "open")
	if err := errors.Join(os.Mkdir(open, 0o755), os.Chmod(open, 0o777), os.Symlink(open, filepath.Join(base, "link")), os.WriteFile(filepath.Join(base, "file"), nil, 0o644)); err != nil {
		t.Fatal(err)
	}
	places := map[string]string{"open/s": "written by others", "link/s": "not a directory", "file/s": "not a directory", "none/none/s": "no such file"}
	if os.Geteuid() == 0 {
		theirs := filepath.Join(base, "theirs")
		if err := errors.Join(os.Mkdir(theirs, 0o755), os.Chown(theirs, 54321, 54321)); err != nil {
			t.Fatal(err)
		}
		places["theirs/s"] = "belongs to user 54321"
	}
	mine := filepath.Join(base, "mine")
	if err := errors.Join(os.Mkdir(mine, 0o755), os.WriteFile(filepath.Join(mine, "s"), nil, 0o644)); err != nil {
		t.Fatal(err)
	}
	places["mine/s"] = "no socket"
	for place, why := range places {
		if l, err := Listen(filepath.Join(base, place)); err == nil || !strings.Contains(err.Error(), why) {
			t.Errorf("%s: %v", place, err)
			if err == nil {
				l.Close()
			}
		}
	}
}

func TestWhatAKilledSupervisorLeftIsReplaced(t *testing.T) {
	path := filepath.Join(t.TempDir(), "hermes", "s")
	first, err := Listen(path)
	if err != nil {
		t.Fatal(err)
	}
	if l, err := Listen(path); err == nil || !strings.Contains(err.Error(), "another supervisor answers there") {
		t.Errorf("two listen: %v", err)
		l.Close()
	}
	first.(*listener).Listener.(*net.UnixListener).SetUnlinkOnClose(false)
	first.Close()
	second, err := Listen(path)
	if err != nil {
		t.Fatal(err)
	}
	defer second.Close()
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o666 {
		t.Errorf("its mode is %v, %v", info.Mode(), err)
	}
}

func TestTheDescriptionIsOfWhatIsServed(t *testing.T) {
	text, err := os.ReadFile("openapi.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var described struct {
		Paths      map[string]map[string]any
		Components struct {
			Schemas map[string]struct {
				Properties map[string]any
			}
		}
	}
	if err := yaml.Unmarshal(text, &described); err != nil {
		t.Fatal(err)
	}
	var want, got []string
	for path, methods := range described.Paths {
		for m := range methods {
			if m != "parameters" {
				want = append(want, strings.ToUpper(m)+" "+path)
			}
		}
	}
	for _, r := range routes {
		got = append(got, r.method+" "+r.path)
	}
	slices.Sort(want)
	slices.Sort(got)
	if !slices.Equal(got, want) {
		t.Errorf("served are %q, described %q", got, want)
	}
	for _, k := range kinds {
		if !strings.Contains(string(text), k.code) {
			t.Errorf("the code %s is not described", k.code)
		}
	}
	for name, value := range map[string]any{"Status": supervise.Status{}, "Exit": supervise.Exit{}, "Health": Health{}} {
		fields := map[string]bool{}
		for i := range reflect.TypeOf(value).NumField() {
			tag, _, _ := strings.Cut(reflect.TypeOf(value).Field(i).Tag.Get("json"), ",")
			fields[tag] = true
			if _, ok := described.Components.Schemas[name].Properties[tag]; !ok {
				t.Errorf("%s.%s is not described", name, tag)
			}
		}
		for field := range described.Components.Schemas[name].Properties {
			if !fields[field] {
				t.Errorf("%s.%s is described and not there", name, field)
			}
		}
	}
}

func FuzzAnswers(f *testing.F) {
	f.Add("404 Not Found", []byte(`{"error":{"code":"not_registered","message":"x"}}`))
	f.Add("500 X", []byte(`{"error":null}`))
	f.Add("500 X", []byte(`[`))
	f.Fuzz(func(t *testing.T, status string, body []byte) {
		if err := decode(status, body); err == nil || err.Error() == "" {
			t.Errorf("%q %q is no error", status, body)
		}
	})
}
