package vet

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"hermes.example/hermes/internal/addon/sealed"
)

// checkStartup refuses what an interpreter runs without being asked, as soon as the tree is a site directory of it.
// Activation never makes it one; but a person may.
func (t *contents) checkStartup() {
	for _, name := range t.topLevel() {
		low := strings.ToLower(name)
		switch module := moduleOf(low, t.files[name] == nil); {
		case strings.HasSuffix(low, ".pth"):
			t.refuse(Startup, name, "the interpreter runs lines of such a file at every start")
		case strings.HasSuffix(low, ".start"):
			t.refuse(Startup, name, "from Python 3.15 on such a file runs entry points at every start")
		case strings.HasSuffix(low, ".pkg"):
			t.refuse(Startup, name, "pkgutil takes its lines for further places of a package")
		case module == "sitecustomize", module == "usercustomize":
			t.refuse(Startup, t.under(name)[0], "the interpreter imports %s at every start", module)
		case strings.HasPrefix(low, "__editable__"):
			t.refuse(Startup, name, "it belongs to an editable install, whose code is elsewhere")
		}
	}
}

// unasked are groups whose entry points a package of the core loads by itself: pydantic, for its plugins.
var unasked = []string{"pydantic"}

// checkEntryPoints refuses those that the core would take for its own: whoever looks one up by its name finds the
// last one, and that is the store's.
func (t *contents) checkEntryPoints(core sealed.Description) {
	taken := make(map[string]bool)
	for _, point := range core.EntryPoints {
		taken[point] = true
	}
	for _, d := range t.distributions {
		f := t.files[d.dir+"/entry_points.txt"]
		if f == nil {
			continue
		}
		if f.content == nil && f.Size > 0 {
			t.refuse(EntryPoint, f.Path, "it is too large to be read")
			continue
		}
		points, why := entryPoints(f.content)
		if why != "" {
			t.refuse(EntryPoint, f.Path, "%s, and would keep the core from finding its own", why)
		}
		for _, point := range points {
			group, _, _ := strings.Cut(point, ":")
			switch {
			case taken[point]:
				t.refuse(EntryPoint, f.Path, "the core has the entry point %s", point)
			case slices.Contains(unasked, group):
				t.refuse(EntryPoint, f.Path, "the core loads every entry point of the group %s by itself", group)
			}
		}
	}
}

// entryPoints reads them as "group:name", the way importlib.metadata does, and says why that one could not.
func entryPoints(content []byte) (points []string, why string) {
	if why := unreadable(content); why != "" {
		return nil, why
	}
	group, hasGroup := "", false
	for _, line := range splitLines(string(content)) {
		line = strings.TrimSpace(line)
		name, _, isPoint := strings.Cut(line, "=")
		switch {
		case line == "" || strings.HasPrefix(line, "#"):
		case strings.HasPrefix(line, "[") && strings.HasSuffix(line, "]"):
			group, hasGroup = strings.Trim(line, "[]"), true
		case !hasGroup: // Python passes over it
		case !isPoint:
			why = fmt.Sprintf("its line %.80q is none", line)
		default:
			points = append(points, group+":"+strings.TrimSpace(name))
		}
	}
	return points, why
}

const pycache = "__pycache__"

// isBytecode says whether a file is one that installers compile and that no wheel has to name.
func isBytecode(name string) bool {
	return path.Ext(name) == ".pyc" && path.Base(path.Dir(name)) == pycache
}

// sourceOf is the file that bytecode was compiled from.
func sourceOf(bytecode string) string {
	module, _, _ := strings.Cut(path.Base(bytecode), ".")
	return path.Join(path.Dir(path.Dir(bytecode)), module+".py")
}

// checkBytecode finds bytecode without its source: nobody can read what it does.
func (t *contents) checkBytecode() {
	for name := range t.files {
		if !isBytecode(name) {
			continue
		}
		if source := sourceOf(name); t.files[source] == nil {
			t.refuse(Bytecode, name, "there is no %.200q that it was compiled from", source)
		}
	}
}
