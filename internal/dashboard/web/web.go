// Package web is the pages of the dashboard as a browser gets them: HTML, style and modules written by hand in src, and
// the terminal that `make` fetches into xterm, all carried in the program.
//
// The dashboard serves it behind its door. It never looks at who asks and knows nothing of the home: whatever the pages
// show they fetch themselves.
package web

import (
	"embed"
	"io/fs"
	"net/http"
	"path"
	"strings"
)

//go:embed src all:xterm
var files embed.FS

// Pages are the paths that people see in their browser, as patterns of a ServeMux. All of them are one document, which
// draws the page of its address.
var Pages = []string{
	"/{$}",
	"/services", "/services/{name}",
	"/sandboxes", "/sandboxes/{profile}/{task}", "/sandboxes/{profile}/{task}/terminal",
	"/addons",
	"/profiles",
}

// The documents, as their files are called.
const (
	document = "index.html"
	login    = "login.html"
)

// AssetsPath is below which everything that the pages load lies.
const AssetsPath = "/assets/"

// Handler serves the pages and what they load. Everything else is not found, which a page tells to a person, and nothing
// can be done but read.
func Handler() http.Handler {
	assets := load()
	mux := http.NewServeMux()
	for _, page := range Pages {
		mux.Handle("GET "+page, assets[document])
		if page != "/{$}" {
			mux.Handle("GET "+page+"/{$}", assets[document]) // as some people write it
		}
	}
	mux.Handle("GET /login", assets[login])
	for name, a := range assets {
		if path.Ext(name) != ".html" {
			mux.Handle("GET "+AssetsPath+name, a)
		}
	}
	mux.HandleFunc("GET /", func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, AssetsPath) || !accepts(r.Header.Values("Accept"), "text/html") {
			http.NotFound(w, r)
			return
		}
		assets[document].serveAsMissing(w, r)
	})
	return mux
}

// load takes every file by the name that it has below AssetsPath: those of src as they are there, and the terminal's
// below xterm.
func load() map[string]*asset {
	assets := make(map[string]*asset)
	err := fs.WalkDir(files, ".", func(at string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || strings.HasPrefix(entry.Name(), ".") {
			return err
		}
		content, err := files.ReadFile(at)
		if err == nil {
			assets[strings.TrimPrefix(at, "src/")] = newAsset(entry.Name(), content)
		}
		return err
	})
	if err != nil {
		panic("cannot read the pages, which are part of this program: " + err.Error())
	}
	return assets
}
