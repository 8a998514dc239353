package native

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"

	"hermes.example/hermes/internal/guest/jail"
	"hermes.example/hermes/internal/image"
	"hermes.example/hermes/internal/image/unpack"
	"hermes.example/hermes/internal/programs"
	"hermes.example/hermes/internal/rundir"
)

// Images opens the store of a home's images. Its layers have owners on disk that
// suit the sandboxes of this caller.
func Images(home string) (*image.Store, error) {
	ids, err := callerIDs()
	if err != nil {
		return nil, err
	}
	return imagesFor(home, ids)
}

func imagesFor(home string, ids idMap) (*image.Store, error) {
	o := image.Options{}
	switch ids.Mode {
	case idsRange:
		// On disk files have the archive's own ids; each sandbox sees them shifted.
	case idsSingle:
		o.Unpack.Owner = &unpack.Owner{UID: ids.UID, GID: ids.GID}
		o.RemoveTree = func(ctx context.Context, dir string) error { return removeAs(ctx, ids, dir) }
	case idsSubordinate:
		o.Owners = ids.owners()
		o.Unpack.Extract = func(ctx context.Context, dir string, tar io.Reader, uo unpack.Options) (unpack.Result, error) {
			return extractInNamespace(ctx, ids, dir, tar, uo)
		}
		o.RemoveTree = func(ctx context.Context, dir string) error { return removeAs(ctx, ids, dir) }
	}
	return image.Open(filepath.Join(home, imagesName), o)
}

// owners names the subordinate ids, as part of a file name.
func (m idMap) owners() string {
	var parts []string
	for _, r := range append(m.UIDs[1:len(m.UIDs):len(m.UIDs)], m.GIDs[1:]...) {
		parts = append(parts, fmt.Sprintf("%d+%d", r.Outside, r.Count))
	}
	return strings.Join(parts, "-")
}

// Pinned says whether an image is in the store for a sandbox, and not by a name that a
// person gave.
func Pinned(img image.Image) bool { return strings.HasPrefix(img.Name, pinPrefix) }

// pin is the name by which the sandbox in dir holds on to the layers that its files
// are based on.
func pin(dir string) string { return pinPrefix + dir }

const pinPrefix = "sandbox in "

// getImage finds the image of the spec, or fetches it. A sandbox that has files keeps
// the image that they are based on, also when its name stands for another one by now.
func (c *creation) getImage(ctx context.Context) (err error) {
	if c.stack, err = c.engine.finishFreezing(c.ID.Home, c.Dir); err != nil {
		return err
	}
	if c.Spec.Image == "" {
		if len(c.stack.Sets) > 0 {
			return fmt.Errorf("its files were forked from an image: name it, or remove the sandbox with its files")
		}
		return nil
	}
	source, err := image.Parse(c.Spec.Image)
	if err != nil {
		return err
	}
	store, err := imagesFor(c.ID.Home, c.ids)
	if err != nil {
		return err
	}
	pinned, err := store.Get(pin(c.Dir))
	if err == nil && pinned.Source == source.String() {
		return c.useImage(store, pinned)
	}
	if len(c.stack.Sets) > 0 {
		return fmt.Errorf("its files were forked from image %q and mean nothing on another: remove it with its files first", pinned.Source)
	}
	if err != nil && !errors.Is(err, image.ErrAbsent) {
		return err
	}
	img, err := store.Get(source.String())
	if errors.Is(err, image.ErrAbsent) {
		img, err = store.Pull(ctx, source.String(), source, c.engine.options.Progress)
	}
	if err != nil {
		return err
	}
	if err := c.useImage(store, img); err != nil {
		return err
	}
	// The directory comes first: a pin without one is garbage.
	if err := c.MakeDir(); err != nil {
		return err
	}
	// Changes to one image mean nothing on another.
	if err := removeAs(ctx, c.ids, filepath.Join(c.Dir, rootName)); err != nil {
		return err
	}
	return store.Tag(ctx, pin(c.Dir), img)
}

func (c *creation) useImage(store *image.Store, img image.Image) error {
	dirs, err := store.Dirs(img)
	if err != nil {
		return err
	}
	c.image, c.layers = &img, dirs
	return c.takeUser()
}

// unpin lets go of the image of a sandbox whose directory is no more.
func unpin(ctx context.Context, home, dir string) error {
	if !exists(filepath.Join(home, imagesName)) {
		return nil
	}
	store, err := image.Open(filepath.Join(home, imagesName), image.Options{})
	if err == nil {
		err = store.Remove(ctx, pin(dir))
	}
	if errors.Is(err, image.ErrAbsent) {
		return nil
	}
	return err
}

// CollectImages removes the layers that neither a name nor a sandbox needs any more,
// and returns how many.
func CollectImages(ctx context.Context, home string) (int, error) {
	store, err := Images(home)
	if err != nil {
		return 0, err
	}
	images, err := store.List()
	if err != nil {
		return 0, err
	}
	for _, img := range images {
		if !Pinned(img) || exists(strings.TrimPrefix(img.Name, pinPrefix)) {
			continue
		}
		// Its sandbox was removed by other means, or its remover was killed.
		if err := store.Remove(ctx, img.Name); err != nil && !errors.Is(err, image.ErrAbsent) {
			return 0, err
		}
	}
	return store.GC(ctx)
}

// RemoveImages removes all images of a home that no sandbox needs.
func RemoveImages(ctx context.Context, home string) error {
	store, err := Images(home)
	if err != nil {
		return err
	}
	images, err := store.List()
	for _, img := range images {
		if err == nil && !Pinned(img) {
			err = store.Remove(ctx, img.Name)
		}
	}
	if err != nil {
		return err
	}
	_, err = CollectImages(ctx, home)
	return err
}

// imagesName is the directory of the images of a home.
const imagesName = "images"

// rootName is the directory with the changes to an image's files.
const rootName = "root"

// describeImage makes the place for changes and tells the guest of the layers.
func (c *creation) describeImage() error {
	if c.image == nil {
		return nil
	}
	if err := c.makeOwned(rootName); err != nil {
		return err
	}
	top := filepath.Join(c.Dir, rootName)
	layers := filepath.Dir(filepath.Dir(c.layers[0]))
	root := &jail.Image{Layers: jail.Bind{Source: layers}, Changes: jail.Bind{Source: top, Writable: true}}
	for _, dir := range c.layers {
		rel, err := filepath.Rel(layers, dir)
		if err != nil {
			return err
		}
		root.Order = append(root.Order, rel)
	}
	c.Config.Image = root
	return errors.Join(c.handOverTree(&root.Layers, true), c.handOverTree(&root.Changes, false), c.describeStack())
}

// extractInNamespace unpacks a layer as root of a user namespace that has the ids that
// its files are to have.
func extractInNamespace(ctx context.Context, ids idMap, dir string, tar io.Reader, o unpack.Options) (unpack.Result, error) {
	options, err := json.Marshal(o)
	if err != nil {
		return unpack.Result{}, err
	}
	caps := []uintptr{unix.CAP_CHOWN, unix.CAP_DAC_OVERRIDE, unix.CAP_FOWNER, unix.CAP_FSETID, unix.CAP_SETUID, unix.CAP_SETGID}
	out, err := runInNamespace(ctx, ids, caps, tar, "unpack", dir, string(options))
	var report jail.Unpacked
	if err == nil {
		err = json.Unmarshal(out, &report)
	}
	switch {
	case err != nil:
		return unpack.Result{}, fmt.Errorf("cannot unpack with subordinate ids: %w", err)
	case report.Refused != nil:
		return unpack.Result{}, report.Refused
	case report.Error != "":
		return unpack.Result{}, errors.New(report.Error)
	}
	return report.Result, nil
}

// runInNamespace runs a part of the guest's program as root of a user namespace with
// the given ids, and returns what it printed.
func runInNamespace(ctx context.Context, ids idMap, caps []uintptr, input io.Reader, args ...string) ([]byte, error) {
	run, err := rundir.Find()
	if err != nil {
		return nil, err
	}
	path, err := programs.Guest.Extract(run, guestArch)
	if err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, path, args...)
	var out, errs strings.Builder
	cmd.Stdout, cmd.Stderr, cmd.Stdin = &out, &errs, input
	release, err := startInNamespace(cmd, unix.CLONE_NEWUSER, caps)
	if err != nil {
		return nil, explainStart(err)
	}
	mapErr := ids.apply(ctx, cmd.Process.Pid)
	release.Close()
	if mapErr != nil {
		cmd.Process.Kill()
		cmd.Wait()
		return nil, mapErr
	}
	err = cmd.Wait()
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case errs.Len() > 0:
		return nil, errors.New(strings.TrimPrefix(strings.TrimSpace(errs.String()), "hermes-guest: "))
	}
	return []byte(out.String()), err
}
