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
	changesDir = "changes" // what the sandbox wrote, on disk
	baseDir    = "base"    // mount points and files that must tell of the sandbox
	rootDir    = "root"
)

// layImage stacks the layers of an image, what the sandbox needs of us, and its
// changes, and stands on the result. What we add is a layer too, below the changes and
// above the image: it hides what the image may have put in the way, and leaves no
// trace among the changes.
func layImage(c Config, layers, changes int) (copied string, err error) {
	for _, dir := range []string{storeDir, layerDir, changesDir, baseDir, rootDir} {
		if err := os.Mkdir(dir, 0o755); err != nil {
			return "", err
		}
	}
	if err := errors.Join(moveTree(layers, storeDir), moveTree(changes, changesDir)); err != nil {
		return "", fmt.Errorf("cannot lay out the image: %w", err)
	}
	lower := []string{baseDir}
	for i, layer := range c.Image.Order {
		at := layerDir + "/" + strconv.Itoa(i)
		if err := errors.Join(os.Mkdir(at, 0o755), bindTree(storeDir+"/"+layer, at)); err != nil {
			return "", fmt.Errorf("cannot lay out the image: %w", err)
		}
		lower = append(lower, at)
	}
	if err := furnish(baseDir, c); err != nil {
		return "", err
	}
	if err := overlay(lower); err != nil {
		copied = err.Error()
		// Without a layer of our own, what we add goes among the files.
		if err := copyImage(lower[1:]); err != nil {
			return "", fmt.Errorf("cannot lay out the image: %s, and %w", copied, err)
		}
		if err := furnish(rootDir, c); err != nil {
			return "", err
		}
	}
	return copied, unix.Chdir(rootDir)
}

func overlay(lower []string) error {
	for dir, mode := range map[string]os.FileMode{"/upper": 0o755, "/work": 0o700} {
		if err := os.Mkdir(changesDir+dir, mode); err != nil && !errors.Is(err, os.ErrExist) {
			return err
		}
	}
	options := "userxattr,upperdir=" + changesDir + "/upper,workdir=" + changesDir + "/work,lowerdir=" + strings.Join(lower, ":")
	return os.NewSyscallError("mount overlay", unix.Mount("image", rootDir, "overlay", unix.MS_NOSUID|unix.MS_NODEV, options))
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
