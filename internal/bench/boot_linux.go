package bench

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"

	"hermes.example/hermes/internal/entry"
	"hermes.example/hermes/internal/programs"
)

// Budgets of the entrypoint, in milliseconds.
const (
	shimBudget    = 2
	bootBudget    = 50
	crowdedBudget = 20
)

// strangers are files on a volume that a boot has nothing to do with.
const strangers = 100_000

// boot measures the entrypoint of the image, in namespaces with a root of their own.
func (r *runner) boot() error {
	if os.Geteuid() != 0 || r.Hermes == "" {
		r.progress("no boot: only root can give it a machine of its own")
		return nil
	}
	root, err := r.bootImage()
	if err != nil {
		return err
	}
	shim, err := r.above(root, "/bin/bash", entry.Program, entry.Typed)
	if err != nil {
		return err
	}
	r.report.figure("exec shim, above the program", "ms", shim, shimBudget, false, "")
	clean, err := r.above(root, r.Hermes, "bash", "/init bash")
	if err != nil {
		return err
	}
	r.report.figure("boot on a clean volume, PID 1's exec to the main program's", "ms", clean, bootBudget, false, "")
	if r.Quick {
		return nil
	}
	for i := range strangers {
		if err := os.WriteFile(filepath.Join(root, "opt/data/mine", strconv.Itoa(i)), nil, 0o644); err != nil {
			return err
		}
	}
	crowded, err := r.above(root, r.Hermes, "bash", "/init bash")
	if err != nil {
		return err
	}
	r.report.figure(fmt.Sprintf("what %d files of others on the volume add to it", strangers), "ms", max(crowded-clean, 0), crowdedBudget, false, "")
	return nil
}

// bootImage is a root directory with what the entrypoint needs of an image.
func (r *runner) bootImage() (string, error) {
	root := filepath.Join(r.home, "image")
	for _, dir := range []string{"usr", "bin", "sbin", "lib", "lib64", "dev", "proc", "etc", "run", "opt/data/mine", filepath.Dir(entry.Program)} {
		if err := os.MkdirAll(filepath.Join(root, dir), 0o755); err != nil {
			return "", err
		}
	}
	for file, text := range map[string]string{
		"etc/passwd": "root:x:0:0::/root:/bin/sh\nhermes:x:10000:10000::/opt/data:/bin/sh\n", "etc/group": "root:x:0:\nhermes:x:10000:\n", entry.Program: "",
	} {
		if err := os.WriteFile(filepath.Join(root, file), []byte(text), 0o644); err != nil {
			return "", err
		}
	}
	return root, programs.InstallInit(root, runtime.GOARCH)
}

// becomeRoot puts a machine together and becomes its PID 1, which tells the time and goes on with the script. Its
// arguments are the root, the real program and the script.
const becomeRoot = `
set -e
mount --make-rprivate /
for d in /usr /bin /sbin /lib /lib64 /dev; do [ ! -e $d ] || mount --rbind $d "$1$d"; done
mount --bind "$2" "$1` + entry.Program + `"
mount -t proc proc "$1/proc"
exec chroot "$1" /usr/bin/env -i PATH=/usr/bin:/bin /bin/bash -c 'echo $EPOCHREALTIME
'"$3"
`

// above is how much longer it takes until what is started with the second word tells the time than with the first.
func (r *runner) above(root, program, first, second string) (float64, error) {
	var samples [2][]float64
	for round := range max(r.Rounds/3, 10) + 2 {
		for i, word := range []string{first, second} {
			took, err := r.clocked(root, program, "exec "+word+" -c 'echo $EPOCHREALTIME'")
			if err != nil {
				return 0, err
			}
			if round >= 2 { // the first ones warm up
				samples[i] = append(samples[i], took)
			}
		}
	}
	return median(samples[1]) - median(samples[0]), nil
}

// clocked runs a script as PID 1 and returns the milliseconds between the first time that was told and the last.
func (r *runner) clocked(root, program, script string) (float64, error) {
	cmd := exec.CommandContext(r.ctx, "unshare", "--pid", "--fork", "--mount", "--ipc", "--net", "--kill-child", "sh", "-c", becomeRoot, "sh", root, program, script)
	out, err := cmd.Output()
	if err != nil {
		return 0, err
	}
	lines := strings.Fields(string(out))
	from, err := strconv.ParseFloat(lines[0], 64)
	if err != nil {
		return 0, err
	}
	to, err := strconv.ParseFloat(lines[len(lines)-1], 64)
	return (to - from) * 1000, err
}
