//go:build linux

package native_test

import (
	"bytes"
	"testing"

	"hermes.example/hermes/sandbox"
	"hermes.example/hermes/sandbox/engine/native"
)

func TestHello(t *testing.T) {
	home := t.TempDir()
	e, err := native.New(native.Options{})
	if err != nil {
		t.Fatal(err)
	}
	m := sandbox.NewManager(e, sandbox.Options{})
	defer m.Close()
	box, err := m.Ensure(t.Context(), sandbox.Identity{Home: home, Task: "t"}, sandbox.Spec{})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Remove(t.Context(), box.Identity(), true)
	var out bytes.Buffer
	res, err := box.Exec(t.Context(), sandbox.Command{Line: "id; pwd; ls -la / /etc; cat /proc/self/status | grep -E 'Cap|Sec|NoNew'; ps ax; cat /proc/self/cgroup; mount; env; exit 7", Stdout: &out})
	t.Logf("%+v %v\n%s", res, err, out.String())
	p, err := box.Posture(t.Context())
	for _, f := range p.Facts {
		t.Logf("%+v", f)
	}
	out.Reset()
	s := box.Session("x")
	s.Exec(t.Context(), sandbox.Command{Line: "export A=1; cd /tmp; f() { echo hi; }", Stdout: &out})
	res, err = s.Exec(t.Context(), sandbox.Command{Line: "echo $A; pwd; f", Stdout: &out})
	t.Logf("%+v %v\n%s", res, err, out.String())
}
