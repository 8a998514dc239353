package store

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"

	"hermes.example/hermes/test/machine"
)

// disk is an ext4 of its own, in a file. What the kernel has not brought to the disk is not in the file, so a copy of
// it is what a machine finds after its power was cut.
type disk struct {
	t   *testing.T
	dir string
}

func newDisk(t *testing.T, dir string) *disk {
	t.Helper()
	d := &disk{t, dir}
	if err := errors.Join(os.WriteFile(d.path("image"), nil, 0o600), os.Truncate(d.path("image"), 12<<20)); err != nil {
		t.Fatal(err)
	}
	d.run("mkfs.ext4", "-q", "-F", d.path("image"))
	d.mount("image", "now")
	return d
}

func (d *disk) path(name string) string { return filepath.Join(d.dir, name) }

func (d *disk) run(name string, args ...string) {
	d.t.Helper()
	if out, err := exec.Command(name, args...).CombinedOutput(); err != nil {
		d.t.Fatalf("%s %v: %v: %s", name, args, err, out)
	}
}

// mount mounts a disk that writes nothing unless it is told to.
func (d *disk) mount(image, at string) {
	d.t.Helper()
	if err := os.MkdirAll(d.path(at), 0o755); err != nil {
		d.t.Fatal(err)
	}
	d.run("mount", "-o", "loop,commit=3600", d.path(image), d.path(at))
}

// cut calls look with what is left of a store if the power fails now.
func (d *disk) cut(look func(s *Store) error) error {
	d.t.Helper()
	// What is on its way to the disk at this moment may arrive or not, but not in part of the copy.
	var image, again []byte
	for try := 0; image == nil || !bytes.Equal(image, again); try++ {
		if try == 100 {
			d.t.Fatal("the disk does not come to rest")
		}
		var err error
		image = again
		if again, err = os.ReadFile(d.path("image")); err != nil {
			d.t.Fatal(err)
		}
	}
	if err := os.WriteFile(d.path("copy"), image, 0o600); err != nil {
		d.t.Fatal(err)
	}
	d.mount("copy", "after")
	defer d.run("umount", d.path("after"))
	s, err := Open(d.path("after/target"), abi311, tag311, Options{})
	if err != nil {
		return err
	}
	return look(s)
}

// TestD35APowerCutLeavesTheOldOrTheNew stops a publication at any moment, and looks at what is on the disk then.
func TestD35APowerCutLeavesTheOldOrTheNew(t *testing.T) {
	_, noLoop := os.Stat("/dev/loop-control")
	if _, err := exec.LookPath("mkfs.ext4"); err != nil || noLoop != nil {
		t.Skipf("no disk can be made in a file: %v", cmp.Or(err, noLoop))
	}
	random := seeded(t)
	machine.OnSmallDisk(t, "32m", func(t *testing.T, dir string) {
		if err := os.Chmod(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		d := newDisk(t, dir)
		s := open(t, d.path("now/target"), abi311, tag311)
		publish(t, s, "a.one")
		old, new := []string{"a.one"}, []string{"a.one", "b.two"}

		// What was said to be done is done.
		began := time.Now()
		publish(t, s, new...)
		takes := time.Since(began)
		if err := d.cut(func(s *Store) error { return whole(s, new...) }); err != nil {
			t.Errorf("after it was published: %v", err)
		}
		if _, err := rollback(t, s); err != nil {
			t.Fatal(err)
		}
		if err := d.cut(func(s *Store) error { return errors.Join(whole(s, old...), wants(s, old...)) }); err != nil {
			t.Errorf("after it was rolled back: %v", err)
		}

		cuts := 8
		if os.Getenv("HERMES_SOAK") != "" {
			cuts = 200
		}
		state := make(map[string]int)
		for range cuts {
			p := start(t, "publish", s.target, new...)
			p.begin()
			time.Sleep(time.Duration(random.Float64() * 1.5 * float64(takes)))
			p.Process.Signal(syscall.SIGSTOP)
			err := d.cut(func(s *Store) error {
				if whole(s, new...) == nil {
					state["new"]++
				} else if err := whole(s, old...); err != nil {
					return fmt.Errorf("neither the old nor the new: %w", err)
				} else {
					state["old"]++
				}
				if err := allWhole(s); err != nil {
					return err
				}
				publish(t, s, new...)
				return errors.Join(whole(s, new...), nothingLeft(s))
			})
			p.Process.Kill()
			p.Wait() // it was killed, or is through
			if err != nil {
				t.Fatal(err)
			}
			publish(t, s, old...)
			collect(t, s, Collect{})
		}
		t.Logf("%v", state)
	})
}

func wants(s *Store, features ...string) error {
	if wanted, err := s.Desired(); err != nil || !slices.Equal(wanted, features) {
		return fmt.Errorf("wanted is %v, not %v: %v", wanted, features, err)
	}
	return nil
}
