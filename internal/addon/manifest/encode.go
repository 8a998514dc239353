package manifest

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// Version is that of the format which Encode writes, and the only one that Decode reads.
const Version = 1

// Largest is how long an encoded manifest may be: some 400,000 files.
const Largest = 64 << 20

// ErrUnfit says that what was installed cannot be described.
var ErrUnfit = errors.New("cannot describe the generation")

// Encode is the manifest as it stands in the generation. Equal manifests have equal bytes: nothing in them says when or
// where they were made.
func Encode(m Manifest) ([]byte, error) {
	if err := m.check(); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnfit, err)
	}
	text, err := json.Marshal(m)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnfit, err)
	}
	if text = append(text, '\n'); len(text) > Largest {
		return nil, fmt.Errorf("%w: %d bytes are too many", ErrUnfit, len(text))
	}
	return text, nil
}

// Decode reads what Encode wrote, and nothing that it would not have written.
func Decode(text []byte) (Manifest, error) {
	var m Manifest
	if len(text) > Largest {
		return m, fmt.Errorf("cannot read the manifest: %d bytes are too many", len(text))
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	err := decoder.Decode(&m)
	if err == nil {
		if _, after := decoder.Token(); after != io.EOF {
			err = errors.New("something follows it")
		}
	}
	if err == nil {
		err = m.check()
	}
	if err != nil {
		return Manifest{}, fmt.Errorf("cannot read the manifest: %w", err)
	}
	return m, nil
}

// CoreOf is the core that an encoded manifest was made for, without reading all of it: a manifest of ten thousand files
// takes milliseconds, and this is asked at every use. Nothing is checked: who wants to rely on it decodes the whole.
func CoreOf(r io.Reader) (string, error) {
	decoder := json.NewDecoder(r)
	if _, err := decoder.Token(); err != nil {
		return "", err
	}
	for {
		key, err := decoder.Token()
		if err != nil {
			return "", err
		}
		if key != "version" && key != "abi" && key != "core" {
			return "", nil // those of before had none
		}
		value, err := decoder.Token()
		if core, ok := value.(string); err != nil || key == "core" && ok {
			return core, err
		}
	}
}

// Digest names the generation with this encoded manifest. The manifest holds the hash of every file, so the digest
// stands for all that can be imported.
func Digest(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}
