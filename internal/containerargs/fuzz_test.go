package containerargs

import (
	"strings"
	"testing"

	"hermes.example/hermes/sandbox"
)

// Whatever people write, it is an error of one line or a result that an engine can
// take, together with a spec of its own and in its normal form.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		"--cap-add\nSYS_PTRACE\n--security-opt\nseccomp=unconfined", "-iteA=b", "-p\n[::1]:80-81:90-91/udp\n-p=1", "-v\n~/a:/b:ro\n--mount\ntype=tmpfs,dst=/x",
		"--network\ncontainer:a\n--ip=1.2.3.4", "--gpus\n\"device=0,1\"\n--device=/dev/x:/y:r", "--ulimit=nofile=1:2\n--memory=1e9\n--cpus=.5", "--tmpfs=/a:size=1g,exec\n--",
		"--add-host\na=[::1]\n--dns\n1.1.1.1", "-l\nhermes-agent\n--sysctl=a", "-e\nTOKEN\n--rm=false\n--init", "--storage-opt=size=1\n--shm-size\n0", "-test.v", "--label\n\xff",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, lines string) {
		if strings.Contains(lines, "env-file") || strings.Contains(lines, "seccomp=") || strings.Contains(lines, "seccomp:") {
			t.Skip("these read files of the machine, which would decide the outcome")
		}
		r, warnings, err := Parse(entries(strings.Split(lines, "\n")...), lookup)
		if err != nil {
			if strings.Contains(err.Error(), "hunter2") || strings.ContainsRune(err.Error(), '\n') {
				t.Errorf("%q: %q", lines, err)
			}
			return
		}
		for _, w := range warnings {
			if strings.ContainsRune(w, '\n') {
				t.Errorf("%q: warning %q", lines, w)
			}
		}
		spec := sandbox.Spec{Image: "i", Network: sandbox.NetworkBridge, Env: map[string]string{"A": "1"}, Container: &sandbox.Container{NewPrivileges: true}}
		r.Apply(&spec)
		if err := spec.Validate(); err != nil {
			t.Errorf("%q: %v", lines, err)
		}
		normal := spec.Normal()
		if err := normal.Validate(); err != nil || normal.Hash() != spec.Hash() {
			t.Errorf("%q: the normal form has the hash %s, not %s, and the error %v", lines, normal.Hash(), spec.Hash(), err)
		}
		if again := (sandbox.Spec{}).Difference(spec); len(again) == 0 {
			t.Errorf("%q: no difference", lines)
		}
		spec.Deviations()
	})
}
