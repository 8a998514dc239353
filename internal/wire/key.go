package wire

// TypeKey gives the guest the key by which callers prove themselves who come through
// the container: Key. Only who comes from outside may.
const TypeKey Type = 90

// CanKey is a guest that knows TypeKey.
const CanKey = "key"

// Key is that of a sandbox.
type Key struct {
	Key []byte `json:"key"`
}
