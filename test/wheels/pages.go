package wheels

import (
	"encoding/json"
	"fmt"
	"html"
	"strings"
)

const (
	jsonPage = "application/vnd.pypi.simple.v1+json"
	htmlPage = "text/html"
)

// page is a project's list of files, in the form that the caller wants and the index has. Without a name it is the
// list of projects.
func (x *Index) page(project, accept string) (kind string, content []byte) {
	x.mu.Lock()
	defer x.mu.Unlock()
	var files []*file
	for _, f := range x.files {
		if project == "" || f.project == project {
			files = append(files, f)
		}
	}
	switch asJSON := !x.htmlOnly && strings.Contains(accept, jsonPage); {
	case len(files) == 0:
		return "", nil
	case project == "" && asJSON:
		return jsonPage, projectsAsJSON(files)
	case project == "":
		return htmlPage, projectsAsHTML(files)
	case asJSON:
		return jsonPage, filesAsJSON(project, files)
	}
	return htmlPage, filesAsHTML(files)
}

func projectsAsJSON(files []*file) []byte {
	var projects []map[string]string
	for _, f := range files {
		projects = append(projects, map[string]string{"name": f.project})
	}
	return marshal(map[string]any{"meta": map[string]string{"api-version": "1.1"}, "projects": projects})
}

func projectsAsHTML(files []*file) []byte {
	var b strings.Builder
	b.WriteString("<!DOCTYPE html><html><body>\n")
	for _, f := range files {
		fmt.Fprintf(&b, "<a href=\"/simple/%s/\">%s</a>\n", f.project, f.project)
	}
	b.WriteString("</body></html>\n")
	return []byte(b.String())
}

func filesAsJSON(project string, files []*file) []byte {
	var list []map[string]any
	for _, f := range files {
		entry := map[string]any{
			"filename": f.name, "url": "/files/" + f.name, "size": len(f.content),
			"hashes":      map[string]string{"sha256": digest(f.content)},
			"upload-time": f.uploaded.UTC().Format("2006-01-02T15:04:05.000000Z"),
		}
		if f.metadata != nil {
			entry["core-metadata"] = map[string]string{"sha256": digest(f.metadata)}
		}
		list = append(list, entry)
	}
	return marshal(map[string]any{"meta": map[string]string{"api-version": "1.1"}, "name": project, "files": list})
}

func filesAsHTML(files []*file) []byte {
	var b strings.Builder
	b.WriteString("<!DOCTYPE html><html><body>\n")
	for _, f := range files {
		metadata := ""
		if f.metadata != nil {
			metadata = fmt.Sprintf(" data-core-metadata=\"sha256=%s\"", digest(f.metadata))
		}
		name := html.EscapeString(f.name)
		fmt.Fprintf(&b, "<a href=\"/files/%s#sha256=%s\"%s>%s</a>\n", name, digest(f.content), metadata, name)
	}
	b.WriteString("</body></html>\n")
	return []byte(b.String())
}

func marshal(v any) []byte {
	data, err := json.Marshal(v)
	must(err)
	return data
}
