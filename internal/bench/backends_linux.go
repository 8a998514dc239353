package bench

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"hermes.example/hermes/internal/addon"
	"hermes.example/hermes/internal/addon/backend"
	"hermes.example/hermes/internal/addon/feature"
	"hermes.example/hermes/internal/addon/lock"
	"hermes.example/hermes/internal/addon/sealed"
	"hermes.example/hermes/internal/config"
	"hermes.example/hermes/sandbox"
	"hermes.example/hermes/sandbox/engine/local"
)

const (
	addedBudget = 1 // millisecond
	coldBudget  = 1.2
)

// How many backends are called at once, and how often; and of how many packages each is, which is what SDKs are made of.
const (
	backendCount    = 5
	callCount       = 100
	backendPackages = 40
)

// echoServer is a server of tools that says how long it took itself. It imports what a backend of a usual weight does.
const echoServer = `
import %s
for line in sys.stdin:
    began = time.perf_counter()
    message = json.loads(line)
    if "id" not in message:
        continue
    kind, params, result = message["method"], message.get("params", {}), {}
    if kind == "initialize":
        result = {"protocolVersion": params["protocolVersion"], "capabilities": {"tools": {}}, "serverInfo": {"name": "echo", "version": "1"}}
    elif kind == "tools/list":
        result = {"tools": [{"name": "echo", "inputSchema": {"type": "object"}}]}
    elif kind == "tools/call":
        result = {"content": [], "structuredContent": {"echo": params.get("arguments"), "ms": 0}}
        result["structuredContent"]["ms"] = (time.perf_counter() - began) * 1000
    print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}), flush=True)
`

// backends measures calls of what add-ons bring, on the sealed runtime of this machine, with servers that are made here.
func (r *runner) backends() error {
	runtime, err := sealed.Find(r.ctx, os.LookupEnv, "")
	if err == nil && runtime.UV() == "" {
		err = errors.New("the runtime has no uv")
	}
	if err == nil && exec.CommandContext(r.ctx, runtime.Python(), "-I", "-c", "import hermes_host").Run() != nil {
		err = errors.New("the runtime has no host for them; build one with make runtime")
	}
	if err != nil {
		r.progress("no backends: " + err.Error())
		return nil
	}
	s := &shelf{dir: filepath.Join(r.home, "backends"), runtime: runtime}
	if err := s.fillBackends(); err != nil {
		return err
	}
	addons := addon.New(s.options("store"))
	for _, f := range s.list {
		if _, err := addons.Ensure(r.ctx, f.Name); err != nil {
			return err
		}
	}
	if err := addons.Compile(r.ctx); err != nil {
		return err
	}
	engine, err := local.New(local.Options{})
	if err != nil {
		return err
	}
	m := sandbox.NewManager(engine, sandbox.Options{NoSweep: true})
	defer m.Close()
	b := &bank{r, s, func() *backend.Pool {
		return backend.NewPool(backend.Options{Addons: addons, Sandboxes: m, Home: s.dir})
	}}
	if err := b.warm(); err != nil {
		return err
	}
	if err := b.cold(); err != nil {
		return err
	}
	return b.many()
}

// bank is where backends are measured.
type bank struct {
	*runner
	shelf *shelf
	pool  func() *backend.Pool
}

// echo calls a backend, and returns how long that one took by its own clock.
func (b *bank) echo(p *backend.Pool, name string) (ms float64, err error) {
	result, err := p.Call(b.ctx, name, "echo", json.RawMessage(`{"query":"a question of a usual length"}`), nil)
	var own struct{ MS float64 }
	if err == nil {
		err = json.Unmarshal(result.Structured, &own)
	}
	return own.MS, err
}

// warm measures what a call of a backend that runs adds to what the backend itself needs.
func (b *bank) warm() error {
	p := b.pool()
	defer p.Close()
	var added, owns []float64
	for round := range b.Rounds + 2 {
		var own float64
		took, err := timed(func() (err error) { own, err = b.echo(p, "bench.n0"); return err })
		if err != nil {
			return err
		}
		if round >= 2 { // the first ones warm up
			added, owns = append(added, took-own), append(owns, own)
		}
	}
	b.report.figure("backends: what a warm call adds to the backend's own time", "ms", median(added), addedBudget, false, fmt.Sprintf("its own is %.2g ms", median(owns)))
	return nil
}

// cold measures a first call, beside the bare interpreter that imports the same.
func (b *bank) cold() error {
	var p *backend.Pool
	took, err := b.interleave(max(b.Rounds/10, 5),
		func() error {
			p = b.pool()
			_, err := b.echo(p, "bench.n0")
			return err
		},
		func() error { p.Close(); return nil }, // its end is not part of a start
		func() error {
			cmd := exec.CommandContext(b.ctx, b.shelf.runtime.Python(), "-I", "-c", "import "+serverImports())
			cmd.Env = []string{config.LazyInstallTarget + "=" + b.shelf.store("store")}
			if out, err := cmd.CombinedOutput(); err != nil {
				return fmt.Errorf("import: %w: %s", err, out)
			}
			return nil
		})
	if err != nil {
		return err
	}
	b.report.compare(fmt.Sprintf("backends: cold start to the first answer, %d modules", backendPackages*(modules-1)), "bare import of the same", took[0], took[2], coldBudget, "in a sandbox of its own")
	return nil
}

// many calls several backends at once.
func (b *bank) many() error {
	p := b.pool()
	defer p.Close()
	name := func(i int) string { return fmt.Sprintf("bench.n%d", i%backendCount) }
	for i := range backendCount {
		if _, err := b.echo(p, name(i)); err != nil {
			return err
		}
	}
	failed, took := together(callCount, func(i int) error { _, err := b.echo(p, name(i)); return err })
	b.report.figure(fmt.Sprintf("errors among %d calls at once of %d backends", callCount, backendCount), "", float64(failed), 0, false,
		fmt.Sprintf("%.0f calls a second", callCount/took*1000))
	b.report.Rows[len(b.report.Rows)-1].Met = failed == 0
	return nil
}

// serverImports is all that the server imports: what every SDK does, and packages of a usual weight.
func serverImports() string { return "json, sys, time, " + imported(backendPackages) }

// imported are all modules of so many packages.
func imported(packages int) string {
	var all []string
	for p := range packages {
		for i := range modules - 1 {
			all = append(all, fmt.Sprintf("large_%d.m%d", p, i))
		}
	}
	return strings.Join(all, ",")
}

// fillBackends writes the wheels and locks of the servers.
func (s *shelf) fillBackends() error {
	if err := os.MkdirAll(filepath.Join(s.dir, "wheels"), 0o755); err != nil {
		return err
	}
	server, err := s.wheelOf("bench_server", map[string]string{"bench_server/__init__.py": "", "bench_server/__main__.py": fmt.Sprintf(echoServer, serverImports())})
	if err != nil {
		return err
	}
	all, specs := []lock.Package{server}, []string{server.Name + "==1.0"}
	for i := range backendPackages {
		pkg, err := s.wheel(fmt.Sprintf("large_%d", i), modules)
		if err != nil {
			return err
		}
		all, specs = append(all, pkg), append(specs, pkg.Name+"==1.0")
	}
	for i := range backendCount {
		f := feature.Feature{Name: fmt.Sprintf("bench.n%d", i), Ecosystem: "python", Specs: specs, Probes: []string{"bench_server"}, Entry: "module:bench_server"}
		s.list = append(s.list, f)
		if err := s.lock(f, all); err != nil {
			return err
		}
	}
	return nil
}
