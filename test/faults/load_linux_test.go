package faults

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"hermes.example/hermes/sandbox"
)

func TestTwoHundredCommandsAtOnce(t *testing.T) {
	eachAlone(t, func(t *testing.T) {
		a := newArena(t)
		box := a.ensure("t", sandbox.Spec{})
		const commands = 200
		began := time.Now()
		var wg sync.WaitGroup
		for i := range commands {
			wg.Add(1)
			go func() {
				defer wg.Done()
				o := a.try(box, sandbox.Command{Line: fmt.Sprintf("read -t 0.2 x <> <(:); echo %d; exit %d", i, i%100)})
				if o.err != nil || o.Code != i%100 || strings.TrimSpace(o.out) != fmt.Sprint(i) {
					t.Errorf("%d: %+v %v %q", i, o.Result, o.err, o.out)
				}
			}()
		}
		wg.Wait()
		t.Logf("%d commands at once in %s", commands, time.Since(began))
	})
}

func TestAHundredSandboxesAtOnce(t *testing.T) {
	eachAlone(t, func(t *testing.T) {
		a := newArena(t)
		const sandboxes = 100
		for i := range sandboxes {
			a.id(fmt.Sprintf("t%d", i))
		}
		began := time.Now()
		var wg sync.WaitGroup
		for i := range sandboxes {
			wg.Add(1)
			go func() {
				defer wg.Done()
				ctx, cancel := context.WithTimeout(t.Context(), 3*bound)
				defer cancel()
				id := sandbox.Identity{Home: a.home, Task: fmt.Sprintf("t%d", i)}
				box, err := a.manager.Ensure(ctx, id, sandbox.Spec{})
				if err != nil {
					t.Errorf("%d: %v", i, err)
					return
				}
				var out strings.Builder
				res, err := box.Exec(ctx, sandbox.Command{Line: "hostname", Stdout: &out})
				if err != nil || res.Code != 0 || strings.TrimSpace(out.String()) != fmt.Sprintf("t%d", i) {
					t.Errorf("%d: %+v %v %q", i, res, err, out.String())
				}
			}()
		}
		wg.Wait()
		t.Logf("%d sandboxes at once in %s", sandboxes, time.Since(began))
		if n := len(a.guests()); n != sandboxes {
			t.Errorf("%d guests", n)
		}
	})
}
