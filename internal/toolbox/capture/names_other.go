//go:build !linux

package capture

import "io/fs"

// hasOtherNames is asked on Linux only, where a sandbox can have the home mounted.
func hasOtherNames(fs.FileInfo) bool { return false }
