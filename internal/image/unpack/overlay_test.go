//go:build linux

package unpack_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"hermes.example/hermes/internal/image/unpack"
	"hermes.example/hermes/internal/treetest"
)

var lower = []item{{Name: "keep", Content: "low"}, {Name: "gone", Content: "low"}, {Name: "dir/low", Content: "low"}, {Name: "opaque/low", Content: "low"},
	{Name: "remade/low", Content: "low"}, {Name: "remade2/low", Content: "low"}, {Name: "implicit/low", Content: "low"}, {Name: "both/low", Content: "low"},
	{Name: "tofile/low", Content: "low"}}

var upper = []item{{Name: ".wh.gone"}, {Name: "dir/new", Content: "up"}, {Name: "opaque/"}, {Name: "opaque/.wh..wh..opq"}, {Name: "opaque/new", Content: "up"},
	{Name: ".wh.remade"}, {Name: "remade/"}, {Name: "remade/new", Content: "up"},
	{Name: "remade2/"}, {Name: "remade2/new", Content: "up"}, {Name: ".wh.remade2"},
	{Name: ".wh.implicit"}, {Name: "implicit/new", Content: "up"},
	{Name: ".wh.tofile"}, {Name: "tofile", Content: "up"},
	{Name: ".wh..wh.plnk/x", Content: "note"}, {Name: ".wh..wh.aufs", Content: "note"}}

const merged = "both/low dir/low dir/new implicit/new keep opaque/new remade/new remade2/new tofile"

// The kernel itself is asked what it makes of two layers, in both ways that it is used.
func TestOverlayShowsWhatTheLayersSay(t *testing.T) {
	for name, o := range map[string]struct {
		unpack.Options
		mount string
		flags uintptr
	}{
		"as root":             {unpack.Options{Overlay: unpack.Trusted}, "lowerdir=up:low", syscall.CLONE_NEWNS},
		"in a user namespace": {unpack.Options{Overlay: unpack.User, Owner: &unpack.Owner{os.Getuid(), os.Getgid()}}, "userxattr,lowerdir=up:low", syscall.CLONE_NEWNS | syscall.CLONE_NEWUSER},
	} {
		t.Run(name, func(t *testing.T) {
			if o.Overlay == unpack.Trusted {
				needRoot(t)
			}
			base := t.TempDir()
			for dir, items := range map[string][]item{"up": upper, "low": lower} {
				if err := os.Rename(unpacked(t, o.Options, items...), filepath.Join(base, dir)); err != nil {
					t.Fatal(err)
				}
			}
			if err := os.Mkdir(filepath.Join(base, "m"), 0o755); err != nil {
				t.Fatal(err)
			}
			cmd := exec.CommandContext(t.Context(), "sh", "-c", "mount -t overlay overlay -o "+o.mount+" m && cd m && find . ! -type d | sort")
			cmd.Dir = base
			cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: o.flags}
			if o.flags&syscall.CLONE_NEWUSER != 0 {
				cmd.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}}
				cmd.SysProcAttr.GidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}}
			} else {
				cmd.SysProcAttr.Unshareflags = syscall.CLONE_NEWNS // private, so that the mount stays in there
				cmd.SysProcAttr.Cloneflags = 0
			}
			var stderr bytes.Buffer
			cmd.Stderr = &stderr
			out, err := cmd.Output()
			if err != nil {
				t.Skipf("overlay cannot be mounted here: %v %s", err, stderr.String())
			}
			got := strings.Join(strings.Fields(strings.ReplaceAll(string(out), "./", "")), " ")
			if got != merged {
				t.Errorf("got  %s\nwant %s", got, merged)
			}
		})
	}
}

func TestWhiteoutsAreWhatOverlayfsExpects(t *testing.T) {
	dir := unpacked(t, unpack.Options{}, upper...)
	if st := treetest.Stat(t, dir+"/gone"); st.Mode&unix.S_IFMT != unix.S_IFCHR || st.Rdev != 0 {
		t.Errorf("the whiteout has mode %o", st.Mode)
	}
	for _, d := range []string{"opaque", "remade", "remade2", "implicit"} {
		if got := xattr(filepath.Join(dir, d), "user.overlay.opaque"); got != "y" {
			t.Errorf("%s is not opaque: %s", d, got)
		}
	}
	if got := xattr(dir+"/dir", "user.overlay.opaque"); got == "y" {
		t.Error("an ordinary directory is opaque")
	}
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), ".wh.") {
			t.Errorf("%s was unpacked", e.Name())
		}
	}
}

func TestAnOpaqueRootIsReported(t *testing.T) {
	_, res, err := into(t, archive(t, item{Name: ".wh..wh..opq"}, item{Name: "f"}), unpack.Options{})
	if err != nil || !res.HidesAll {
		t.Errorf("%+v %v", res, err)
	}
}
