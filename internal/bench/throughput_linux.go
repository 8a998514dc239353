package bench

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strconv"

	"hermes.example/hermes/sandbox"
)

const gibibyte = 1 << 30

// throughput sends a gibibyte through one command, checks it at the caller, and
// looks at how much memory that took at both ends.
func (r *runner) throughput() error {
	box, err := r.box("throughput")
	if err != nil {
		return err
	}
	guestBefore, err := r.guestMemory("throughput", "VmRSS")
	if err != nil {
		return err
	}
	callerBefore := peak("self")
	send := sandbox.Command{Argv: []string{"head", "-c", strconv.Itoa(gibibyte), "/dev/zero"}}
	zeros := &zeroChecker{}
	send.Stdout = zeros
	took, err := timed(func() error { return succeeded(box.Exec(r.ctx, send)) })
	if err == nil && (zeros.n != gibibyte || zeros.wrong) {
		err = fmt.Errorf("%d bytes arrived, wrong ones among them: %t", zeros.n, zeros.wrong)
	}
	if err != nil {
		return err
	}
	guestPeak, err := r.guestMemory("throughput", "VmHWM")
	if err != nil {
		return err
	}
	r.report.figure("1 GiB through one command, every byte compared", "MB/s", gibibyte/1e6/(took/1e3), 500, true, "")
	r.report.figure("peak memory of the guest above idle meanwhile", "MB", guestPeak-guestBefore, 32, false, "")
	r.report.figure("peak memory of the caller above before meanwhile", "MB", peak("self")-callerBefore, 32, false, "")
	return r.hashed(box, send)
}

// hashed sends the gibibyte again and takes its SHA-256 on the way, beside the
// same hash without any sandbox: a processor may be slower at that than we are.
func (r *runner) hashed(box *sandbox.Sandbox, send sandbox.Command) error {
	hash := sha256.New()
	send.Stdout = hash
	took, err := timed(func() error { return succeeded(box.Exec(r.ctx, send)) })
	if err != nil {
		return err
	}
	if sum := hex.EncodeToString(hash.Sum(nil)); sum != zerosDigest {
		return fmt.Errorf("what arrived has the digest %s", sum)
	}
	block := make([]byte, 64<<10)
	alone, _ := timed(func() error {
		hash.Reset()
		for range gibibyte / len(block) {
			hash.Write(block)
		}
		return nil
	})
	r.report.compare("1 GiB through one command into SHA-256", "the hash alone", took, alone, 0, "")
	return nil
}

// zerosDigest is the SHA-256 of a gibibyte of zeros.
const zerosDigest = "49bc20df15e412a64472421e13fe86ff1c5165e18b2afccf160d4dc19fe68a14"

// zeroChecker counts bytes and looks whether they are all zero.
type zeroChecker struct {
	n     int64
	wrong bool
	zeros [64 << 10]byte
}

func (z *zeroChecker) Write(p []byte) (int, error) {
	z.n += int64(len(p))
	for rest := p; len(rest) > 0; {
		n := min(len(rest), len(z.zeros))
		z.wrong = z.wrong || !bytes.Equal(rest[:n], z.zeros[:n])
		rest = rest[n:]
	}
	return len(p), nil
}
