package store

import (
	"cmp"
	"io/fs"
	"os"
	"path/filepath"

	"hermes.example/hermes/internal/addon/manifest"
)

// description is what stands beside site-packages.
type description struct {
	manifest, sbom []byte
	digest         string
}

func describe(m manifest.Manifest, bill func(digest string) ([]byte, error)) (d description, err error) {
	if d.manifest, err = manifest.Encode(m); err != nil {
		return d, err
	}
	d.digest = manifest.Digest(d.manifest)
	if bill != nil {
		d.sbom, err = bill(d.digest)
	}
	return d, err
}

func (d description) write(staged Staged, m manifest.Manifest) error {
	features := filepath.Join(staged.Dir, featuresDir)
	if err := os.Mkdir(features, 0o755); err != nil {
		return err
	}
	// These need no helper: the whole tree is brought to the disk before it gets its name.
	for name, content := range proofs(m) {
		if err := write(filepath.Join(features, name), content, fileMode); err != nil {
			return err
		}
	}
	if err := os.Chmod(features, dirMode); err != nil {
		return err
	}
	return cmp.Or(
		write(filepath.Join(staged.Dir, manifestFile), d.manifest, fileMode),
		write(filepath.Join(staged.Dir, sbomFile), d.sbom, fileMode),
		write(filepath.Join(staged.Dir, lockFile), nil, lockMode))
}

// write makes a file that was not there, with the mode whatever the umask.
func write(path string, content []byte, mode fs.FileMode) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(content)
	return cmp.Or(err, f.Chmod(mode), f.Close())
}
