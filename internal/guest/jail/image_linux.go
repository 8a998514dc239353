package jail

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// What the scaffold of an image root holds. Names are short because the kernel takes
// no more than a page of mount options.
const (
	storeDir   = "store"   // all layers
	layerDir   = "l"       // those of the image, by number
	frozenDir  = "f"       // sets of frozen files, by number
	changesDir = "changes" // what the sandbox wrote, on disk
	baseDir    = "base"    // mount points and files that must tell of the sandbox
	partDir    = "p"       // directories that have frozen files, by name
	rootDir    = "root"
)

// laid is what layImage has made: the root is the working directory.
type laid struct {
	copied string // why the image was copied
	parts  []tree // directories that have frozen files
}

// layImage stacks the layers of an image, what the sandbox needs of us, and its
// changes, and stands on the result. What we add is a layer too, below the changes and
// above the image: it hides what the image may have put in the way, and leaves no
// trace among the changes. The sources are those of imageSources.
func layImage(c Config, sources []tree) (l laid, err error) {
	for _, dir := range []string{storeDir, layerDir, frozenDir, changesDir, baseDir, partDir, rootDir} {
		if err := os.Mkdir(dir, 0o755); err != nil {
			return l, err
		}
	}
	if err := errors.Join(moveTree(sources[0].fd, storeDir), moveTree(sources[1].fd, changesDir)); err != nil {
		return l, err
	}
	for i, set := range sources[2:] {
		at := frozenDir + "/" + strconv.Itoa(i)
		if err := errors.Join(os.Mkdir(at, 0o755), moveTree(set.fd, at)); err != nil {
			return l, err
		}
	}
	var layers []string
	for i, layer := range c.Image.Order {
		at := layerDir + "/" + strconv.Itoa(i)
		if err := errors.Join(os.Mkdir(at, 0o755), bindTree(storeDir+"/"+layer, at)); err != nil {
			return l, err
		}
		layers = append(layers, at)
	}
	if err := furnish(baseDir, c); err != nil {
		return l, err
	}
	for _, p := range c.Image.Parts {
		part, err := layPart(p, len(c.Image.Frozen))
		if err != nil {
			return l, err
		}
		l.parts = append(l.parts, part)
	}
	lower := append([]string{baseDir}, append(frozen(RootPart, len(c.Image.Frozen)), layers...)...)
	if err := overlay(lower, "upper", "work", rootDir); err != nil {
		l.copied = err.Error()
		if len(c.Image.Frozen) > 0 {
			return l, err
		}
		// Without a layer of our own, what we add goes among the files.
		if err := copyImage(layers); err != nil {
			return l, fmt.Errorf("%s, and %w", l.copied, err)
		}
		if err := furnish(rootDir, c); err != nil {
			return l, err
		}
	}
	return l, unix.Chdir(rootDir)
}

// imageSources are the trees that an image is made of.
func imageSources(i *Image) []Bind {
	if i == nil {
		return nil
	}
	return append([]Bind{i.Layers, i.Changes}, i.Frozen...)
}

// frozen lists where a part is in the sets of frozen files.
func frozen(part string, sets int) []string {
	var dirs []string
	for i := range sets {
		dir := frozenDir + "/" + strconv.Itoa(i) + "/" + part
		if _, err := os.Lstat(dir); err == nil {
			dirs = append(dirs, dir)
		}
	}
	return dirs
}

// layPart lays the changes to a directory over its frozen files.
func layPart(p Part, sets int) (tree, error) {
	at := partDir + "/" + p.Name
	if err := os.Mkdir(at, 0o755); err != nil {
		return tree{}, err
	}
	lower := frozen(p.Name, sets)
	if len(lower) == 0 {
		lower = []string{at} // it is empty
	}
	if err := overlay(lower, p.Name, p.Name+".work", at); err != nil {
		return tree{}, err
	}
	b := Bind{Source: at, Target: p.Target, Writable: true, Owned: true}
	fd, err := openTree(b, nil)
	return tree{b, fd}, err
}

func overlay(lower []string, upper, work, at string) error {
	upper, work = changesDir+"/"+upper, changesDir+"/"+work
	if err := os.Mkdir(work, 0o700); err != nil && !errors.Is(err, os.ErrExist) {
		return err
	}
	if err := os.Mkdir(upper, 0o755); err == nil {
		// The top of an overlay has the rights of its topmost layer.
		for _, dir := range lower {
			var st unix.Stat_t
			if strings.HasPrefix(dir, frozenDir+"/") && unix.Stat(dir, &st) == nil {
				if err := copyMeta(dir, upper, &st); err != nil {
					return err
				}
				break
			}
		}
	} else if !errors.Is(err, os.ErrExist) {
		return err
	}
	options := "userxattr,upperdir=" + upper + ",workdir=" + work + ",lowerdir=" + strings.Join(lower, ":")
	return os.NewSyscallError("mount overlay", unix.Mount("image", at, "overlay", unix.MS_NOSUID|unix.MS_NODEV, options))
}

// bindTree shows a directory of the scaffold at another one.
func bindTree(from, at string) error {
	tree, err := openTree(Bind{Source: from}, nil)
	if err != nil {
		return err
	}
	defer unix.Close(tree)
	return moveTree(tree, at)
}

func moveTree(tree int, at string) error {
	return os.NewSyscallError("mount "+at, unix.MoveMount(tree, "", unix.AT_FDCWD, at, unix.MOVE_MOUNT_F_EMPTY_PATH))
}
