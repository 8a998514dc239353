package install

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"
	"sync"

	"hermes.example/hermes/internal/config"
)

//go:embed compile.py
var compiler string

// Compile has the runtime's interpreter compile modules of a directory, by as many processes as there are processors.
// Nothing of the modules runs. One that is not Python gets no bytecode, and that is no error.
func (i Installer) Compile(ctx context.Context, modules []string, in string) error {
	s, err := i.open()
	if err != nil {
		return err
	}
	defer s.close()
	shares := deal(modules, runtime.GOMAXPROCS(0))
	failed := make([]error, len(shares))
	var workers sync.WaitGroup
	for n, share := range shares {
		workers.Go(func() { failed[n] = s.compile(ctx, fmt.Sprint("modules-", n), share, in) })
	}
	workers.Wait()
	return s.judge("python -m py_compile", errors.Join(failed...))
}

// compile is one process.
func (s *session) compile(ctx context.Context, list string, modules []string, in string) error {
	if err := s.write(list, []byte(strings.Join(modules, "\n")+"\n")); err != nil {
		return err
	}
	return s.run(ctx, command{
		program: s.Runtime.Python(),
		args:    []string{"-I", "-S", "-X", "utf8", "-W", "ignore", "-c", compiler, in, s.path(list)},
		env:     environment{"TMPDIR": s.dir, config.LazyInstallTarget: os.DevNull},
		timeout: s.timeout(),
	})
}

// deal makes shares of about the same size. Neighbours go to different ones: large modules are often together.
func deal(all []string, shares int) [][]string {
	dealt := make([][]string, min(shares, len(all)))
	for n, one := range all {
		dealt[n%len(dealt)] = append(dealt[n%len(dealt)], one)
	}
	return dealt
}
