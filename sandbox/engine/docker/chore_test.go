package docker

import (
	"crypto/rand"
	"strings"
	"testing"
)

func TestNamesOfChoresLeadNowhereElse(t *testing.T) {
	if name := chorePrefix + strings.ToLower(rand.Text()); !isChore(name) {
		t.Errorf("%s is none", name)
	}
	for _, name := range []string{"", "chore-", "chore-../x", "x", "/tmp/x", "chore-A", "chore-a.lock", "xchore-a"} {
		if isChore(name) {
			t.Errorf("%q is one", name)
		}
	}
}
