package contained

import (
	"bytes"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"io"
	"sync"
)

// A stream that passes through the container could be opened, or answered, by any
// process in it. So before its first frame the two ends prove that they have the
// same key: the guest of this sandbox, and whoever made it. The key never travels
// once the first command has run.
//
// The caller begins with one byte. To claim a guest that has no key yet it sends the
// key; to prove itself it sends a challenge, gets the guest's own and the guest's
// proof, and answers with its proof.

// Key is a sandbox's secret. It is not printed.
type Key [32]byte

// NewKey returns a random one.
func NewKey() (k Key) {
	rand.Read(k[:])
	return k
}

// String keeps the key out of messages.
func (Key) String() string { return "a key" }

// GoString does so too.
func (k Key) GoString() string { return k.String() }

const (
	claims = 'C'
	proves = 'P'

	taken   = 'y'
	refused = 'n'
)

// What is proven, so that neither side's proof can be sent back to it as its own.
const (
	ofGuest  = "hermes guest"
	ofCaller = "hermes caller"
)

var (
	// ErrClaimed means that a guest has a key already, or that commands have run.
	ErrClaimed = errors.New("its guest takes no key any more")
	// ErrUnproven means that the other end does not have the key.
	ErrUnproven = errors.New("the other end does not have the sandbox's key")
	// ErrUnclaimed means that a guest has no key yet, and so proves nothing.
	ErrUnclaimed = errors.New("its guest has no key yet")
)

func (k Key) proof(who string, caller, guest []byte) []byte {
	mac := hmac.New(sha256.New, k[:])
	io.WriteString(mac, who)
	mac.Write(caller)
	mac.Write(guest)
	return mac.Sum(nil)
}

// Claim gives a guest that has none its key.
func Claim(line io.ReadWriter, k Key) error {
	if _, err := line.Write(append([]byte{claims}, k[:]...)); err != nil {
		return err
	}
	var answer [1]byte
	if _, err := io.ReadFull(line, answer[:]); err != nil {
		return err
	}
	return judge(answer[0], ErrClaimed)
}

// Prove shows the guest that we have its key, and finds out whether it has.
func Prove(line io.ReadWriter, k Key) error {
	challenge := NewKey()
	if _, err := line.Write(append([]byte{proves}, challenge[:]...)); err != nil {
		return err
	}
	var answer [1]byte
	if _, err := io.ReadFull(line, answer[:]); err != nil {
		return err
	}
	if err := judge(answer[0], ErrUnclaimed); err != nil {
		return err
	}
	theirs := make([]byte, len(challenge)+sha256.Size)
	if _, err := io.ReadFull(line, theirs); err != nil {
		return err
	}
	guest, proof := theirs[:len(challenge)], theirs[len(challenge):]
	if !hmac.Equal(proof, k.proof(ofGuest, challenge[:], guest)) {
		return ErrUnproven
	}
	_, err := line.Write(k.proof(ofCaller, challenge[:], guest))
	return err
}

// judge reads an answer. One that is neither is no guest's: a daemon that cannot start a
// bridge says so in its place.
func judge(answer byte, no error) error {
	switch answer {
	case taken:
		return nil
	case refused:
		return no
	}
	return errors.New("what answers is no guest")
}

// Lock is the guest's half.
type Lock struct {
	// Open says whether a first caller may still bring a key: no command has run that
	// could pass itself off as one.
	Open func() bool

	mu  sync.Mutex
	key *Key
}

// Set gives the lock its key. Only a caller who is known to be outside may.
func (l *Lock) Set(k Key) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.key = &k
}

// Admit says whether whoever is at the other end may come in.
func (l *Lock) Admit(line io.ReadWriter) bool {
	var first [1 + len(Key{})]byte
	if _, err := io.ReadFull(line, first[:]); err != nil {
		return false
	}
	theirs := Key(first[1:])
	if first[0] == claims {
		return answer(line, l.claim(theirs)) == nil
	}
	l.mu.Lock()
	key := l.key
	l.mu.Unlock()
	if first[0] != proves || key == nil {
		answer(line, false)
		return false
	}
	ours := NewKey()
	reply := bytes.Join([][]byte{{taken}, ours[:], key.proof(ofGuest, theirs[:], ours[:])}, nil)
	if _, err := line.Write(reply); err != nil {
		return false
	}
	var proof [sha256.Size]byte
	_, err := io.ReadFull(line, proof[:])
	return err == nil && hmac.Equal(proof[:], key.proof(ofCaller, theirs[:], ours[:]))
}

// claim takes the first key that comes, and none after it.
func (l *Lock) claim(k Key) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.key != nil || !l.Open() {
		return false
	}
	l.key = &k
	return true
}

func answer(line io.Writer, yes bool) error {
	if !yes {
		line.Write([]byte{refused})
		return ErrClaimed
	}
	_, err := line.Write([]byte{taken})
	return err
}
