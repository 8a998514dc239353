package apis

import (
	"embed"
	"io/fs"
	"strings"
)

//go:embed all:standins
var standIns embed.FS

// StandIns are small packages in the place of the SDKs, by their paths below site-packages. They have what the adapters
// use, speak the same APIs, and fail as the libraries below the SDKs do.
func StandIns() map[string]string {
	files := make(map[string]string)
	_ = fs.WalkDir(standIns, ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := standIns.ReadFile(path)
		files[strings.TrimPrefix(path, "standins/")] = string(content)
		return err
	})
	return files
}
