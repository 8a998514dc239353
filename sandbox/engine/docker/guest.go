package docker

import (
	"archive/tar"
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"

	"github.com/moby/moby/api/types/mount"
	"github.com/moby/moby/client"

	"hermes.example/hermes/internal/atomicfile"
	"hermes.example/hermes/internal/contained"
	"hermes.example/hermes/internal/programs"
	"hermes.example/hermes/internal/rundir"
)

// guestVolume holds the guest's program. It is named by what is in it, so that all
// sandboxes share it and versions stand side by side.
func (e *Engine) guestVolume() string { return volumePrefix + e.build }

const volumePrefix = "hermes-guest-"

// guestMount shows the program to a container.
func (e *Engine) guestMount() mount.Mount {
	return mount.Mount{Type: mount.TypeVolume, Source: e.guestVolume(), Target: contained.Bin, ReadOnly: true, VolumeOptions: &mount.VolumeOptions{NoCopy: true}}
}

// labelVolume marks volumes of programs.
const labelVolume = "hermes-guest-program"

// stamp is a file that says which volume was seen to be whole.
func (e *Engine) stamp(build string) string {
	return filepath.Join(e.run, volumePrefix+build+"."+e.options.Name)
}

// putGuest sees to it that the volume holds the guest's program. It is filled and read
// through a container that is made for that, of any image, and never started. That is
// done once: afterwards a file says which volume of which daemon was seen to be whole.
func (e *Engine) putGuest(ctx context.Context, image string) error {
	v, err := e.makeVolume(ctx, client.VolumeCreateOptions{Name: e.guestVolume(), Labels: map[string]string{labelVolume: e.build, "hermes-agent": "1"}})
	if err != nil {
		return fmt.Errorf("cannot make the volume of the guest: %w", explain(err))
	}
	// One that was removed and made again has another time.
	seen := []byte(v.Mountpoint + " " + v.CreatedAt + "\n")
	whole := func() bool {
		have, err := os.ReadFile(e.stamp(e.build))
		return err == nil && bytes.Equal(have, seen)
	}
	if whole() {
		return nil
	}
	lock, err := rundir.Acquire(ctx, lockName(e.stamp(e.build)))
	if err != nil {
		return err
	}
	defer lock.Release(true)
	if whole() {
		return nil // whoever had the lock has done it
	}
	if err := e.fillVolume(ctx, image); err != nil {
		return fmt.Errorf("cannot give the daemon the guest: %w", err)
	}
	return atomicfile.Replace(e.stamp(e.build), seen, 0o600)
}

func (e *Engine) fillVolume(ctx context.Context, image string) error {
	program, err := programs.Guest.For(e.options.Arch)
	if err != nil {
		return err
	}
	volume := e.guestMount()
	volume.ReadOnly = false
	return e.withUnstarted(ctx, image, []mount.Mount{volume}, func(id string) error {
		if whole, err := e.holdsGuest(ctx, id, program); err != nil || whole {
			return err
		}
		archive, err := archived(program)
		if err != nil {
			return err
		}
		if _, err := e.api.CopyToContainer(ctx, id, client.CopyToContainerOptions{DestinationPath: contained.Bin, Content: archive}); err != nil {
			return explain(err)
		}
		return e.readBack(ctx, id, program)
	})
}

// readBack makes sure of what was written. Somebody else who fills the volume at the same time takes the name away for
// a moment.
func (e *Engine) readBack(ctx context.Context, id string, program []byte) error {
	for range 20 {
		if whole, err := e.holdsGuest(ctx, id, program); err != nil || whole {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(50 * time.Millisecond):
		}
	}
	return errors.New("it reads back something else than was written")
}

// archived is the program under a name that nobody else gives, and then, by a link, under its own: that name never
// stands for half of it. Callers of one daemon who see none of each other's locks may fill the volume at once, and the
// containers of one of them start while another still writes.
func archived(program []byte) (io.Reader, error) {
	var archive bytes.Buffer
	w := tar.NewWriter(&archive)
	name := path.Base(contained.Program)
	written := name + "." + strings.ToLower(rand.Text())
	err := w.WriteHeader(&tar.Header{Name: written, Mode: 0o555, Size: int64(len(program))})
	if err == nil {
		_, err = w.Write(program)
	}
	if err == nil {
		err = w.WriteHeader(&tar.Header{Typeflag: tar.TypeLink, Name: name, Linkname: written, Mode: 0o555})
	}
	return &archive, errors.Join(err, w.Close())
}

// holdsGuest reads the program back.
func (e *Engine) holdsGuest(ctx context.Context, id string, program []byte) (bool, error) {
	content, err := e.api.CopyFromContainer(ctx, id, client.CopyFromContainerOptions{SourcePath: contained.Program})
	if isNotFound(err) {
		return false, nil
	}
	if err != nil {
		return false, explain(err)
	}
	defer content.Content.Close()
	archive := tar.NewReader(content.Content)
	header, err := archive.Next()
	if err != nil {
		return false, err
	}
	if header.Mode&0o777 != 0o555 || header.Size != int64(len(program)) {
		return false, nil
	}
	have, err := io.ReadAll(io.LimitReader(archive, int64(len(program))+1))
	return bytes.Equal(have, program), err
}
