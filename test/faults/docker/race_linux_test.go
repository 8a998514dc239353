package docker

import (
	"io"
	"os"
	"strings"
	"testing"
)

// Of many processes that open a sandbox at once one makes its container: those that see
// each other's locks wait for it, for the others the daemon decides.
func TestD10ManyProcessesMakeOneContainer(t *testing.T) {
	t.Parallel()
	for _, apart := range []bool{false, true} {
		a := newArena(t)
		for round := range size(2, 20) {
			read, write, err := os.Pipe()
			if err != nil {
				t.Fatal(err)
			}
			var all []*caller
			for range 4 {
				e := a.errand("t", "cat /proc/sys/kernel/random/boot_id >/dev/null; hostname")
				e.Wait = true
				var more []string
				if apart {
					more = append(more, "XDG_RUNTIME_DIR="+t.TempDir())
				}
				all = append(all, send(t, e, read, more...))
			}
			write.Close()
			got := make(map[string]int)
			for _, c := range all {
				said, _ := io.ReadAll(c.out)
				if err := c.Wait(); err != nil {
					t.Errorf("apart %v, round %d: a caller failed: %v", apart, round, err)
				}
				got[strings.TrimSpace(string(said))]++
			}
			read.Close()
			id := a.one("t")
			if len(got) != 1 || got[id[:12]] != len(all) {
				t.Errorf("apart %v, round %d: callers by container: %v", apart, round, got)
			}
			if err := a.manager.Remove(a.context(), a.id("t"), false); err != nil {
				t.Error(err)
			}
		}
	}
}
