// Command dist packs what scripts/dist.sh has built: an archive a platform, and SHA256SUMS over all of them. The same
// files give the same bytes, whoever packs them, when, and where.
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

func main() {
	from := flag.String("from", "", "directory with hermes-OS-ARCH for each platform")
	share := flag.String("share", "", "directory with what all archives have")
	to := flag.String("to", "dist", "directory to write to; what is in it is removed")
	version := flag.String("version", "dev", "version in the names of the archives")
	epoch := flag.Int64("epoch", 0, "time of all files, in seconds since 1970")
	flag.Parse()
	if err := pack(*from, *share, *to, *version, time.Unix(*epoch, 0).UTC()); err != nil {
		fmt.Fprintln(os.Stderr, "dist: "+err.Error())
		os.Exit(1)
	}
}

// pack writes an archive for each program, and the sums. The directory gets its name when it is whole.
func pack(from, share, to, version string, at time.Time) error {
	programs, err := filepath.Glob(filepath.Join(from, "hermes-*-*"))
	if err != nil {
		return err
	}
	if len(programs) == 0 {
		return fmt.Errorf("cannot pack: there is no program in %s", from)
	}
	shared, err := filesIn(share)
	if err != nil {
		return err
	}
	staged := to + ".new"
	for _, dir := range []string{staged, to} {
		if err := os.RemoveAll(dir); err != nil {
			return err
		}
	}
	if err := os.MkdirAll(staged, 0o755); err != nil {
		return err
	}
	for _, program := range programs {
		if err := packOne(program, shared, staged, version, at); err != nil {
			return fmt.Errorf("cannot pack %s: %w", program, err)
		}
	}
	if err := writeSums(staged); err != nil {
		return err
	}
	return os.Rename(staged, to)
}
