package api

import (
	"io/fs"
	"net/http"
	"strings"

	"hermes.example/hermes/client"
	"hermes.example/hermes/sandbox"
)

// fileLimit is how large a file may be that is sent here in one request.
const fileLimit = 4 << 30

// pathParameter names a file. It is a parameter and no part of the route: a path has slashes, dots that mean something,
// may be relative, and is bytes.
var pathParameter = Parameter{Name: "path", In: inQuery, Required: true,
	Description: "a path inside; one that does not begin with a slash lies where commands begin. Bytes that are not UTF-8 are percent-encoded as they are"}

var fileErrors = []code{client.CodeNotFound, client.CodeNoFile, client.CodeForbidden, client.CodeUnprocessable, client.CodeGone}

func (a *API) fileOperations() []Operation {
	const route = "/v1/sandboxes/{task}/files"
	written := Answer{Status: 200, Description: "how much it was", Type: client.Written{}}
	done := Answer{Status: 204, Description: "it is done"}
	return []Operation{
		{
			Method: "GET", Path: route, ID: "readFile", Tag: "files",
			Summary: "Read a file",
			Detail:  "All of it, the part that offset and limit name, or the one that a Range header names. HEAD tells its size.",
			Parameters: []Parameter{pathParameter,
				{Name: "offset", In: inQuery, Type: int64(0), Description: "where to begin"},
				{Name: "limit", In: inQuery, Type: int64(0), Description: "how many bytes at most; all if it is zero"},
				{Name: "Range", In: inHeader, Description: "as in bytes=0-99, instead of offset and limit"}},
			Answers: []Answer{{Status: 200, Description: "its content", Media: mediaBytes}, {Status: 206, Description: "a part of its content", Media: mediaBytes}},
			Errors:  append([]code{client.CodeBadRange}, fileErrors...),
			Handle:  a.onFiles(existing, readFile),
		},
		{
			Method: "PUT", Path: route, ID: "writeFile", Tag: "files",
			Summary: "Write a file",
			Detail:  "It appears under its name when it is whole, in place of a file or link of that name. If the request is cut off, what was there before stays. An append shows while it is under way.",
			Parameters: []Parameter{pathParameter,
				{Name: "mode", In: inQuery, Description: "its permissions in octal digits; those of the file that it replaces, or else 0644"},
				{Name: "append", In: inQuery, Type: false, Description: "add to the file instead of replacing it"},
				{Name: "limit", In: inQuery, Type: int64(0), Description: "how many bytes it may have"}},
			Request: &Body{Media: mediaBytes, Limit: fileLimit},
			Answers: []Answer{written}, Errors: fileErrors,
			Handle: a.onFiles(made, writeFile),
		},
		{
			Method: "DELETE", Path: route, ID: "removeFile", Tag: "files",
			Summary:    "Remove a file, a link or an empty directory",
			Parameters: []Parameter{pathParameter, {Name: "all", In: inQuery, Type: false, Description: "also what is in a directory"}},
			Answers:    []Answer{done}, Errors: fileErrors,
			Handle: a.onFiles(existing, removeFile),
		},
		{
			Method: "GET", Path: route + "/stat", ID: "statFile", Tag: "files",
			Summary:    "Look at a file",
			Parameters: []Parameter{pathParameter, {Name: "follow", In: inQuery, Type: false, Description: "false looks at a link itself, and not at where it leads"}},
			Answers:    []Answer{{Status: 200, Description: "what is known of it", Type: client.File{}}}, Errors: fileErrors,
			Handle: a.onFiles(existing, statFile),
		},
		{
			Method: "GET", Path: route + "/list", ID: "listFiles", Tag: "files",
			Summary: "List a directory",
			Detail:  "The answer is sent while the directory is read. Links are told of and not followed.",
			Parameters: []Parameter{pathParameter,
				{Name: "depth", In: inQuery, Type: 0, Description: "how many directories below it are listed too"},
				{Name: "limit", In: inQuery, Type: 0, Description: "how many entries at most: 10000 if it is not there, and never more than 1000000"}},
			Answers: []Answer{{Status: 200, Description: "the entries, in no order", Type: client.Listing{}}}, Errors: fileErrors,
			Handle: a.onFiles(existing, listFiles),
		},
		{
			Method: "POST", Path: route + "/mkdir", ID: "makeDirectory", Tag: "files",
			Summary: "Make a directory",
			Parameters: []Parameter{pathParameter,
				{Name: "mode", In: inQuery, Description: "its permissions in octal digits; 0755 if they are not there"},
				{Name: "parents", In: inQuery, Type: false, Description: "make those above it too; then one that exists is no error"}},
			Answers: []Answer{done}, Errors: append([]code{client.CodeExists}, fileErrors...),
			Handle: a.onFiles(made, makeDirectory),
		},
		{
			Method: "POST", Path: route + "/rename", ID: "renameFile", Tag: "files",
			Summary:    "Give a file or directory another path, in place of what has it",
			Parameters: []Parameter{pathParameter, {Name: "to", In: inQuery, Required: true, Description: "the new path"}},
			Answers:    []Answer{done}, Errors: fileErrors,
			Handle: a.onFiles(existing, renameFile),
		},
	}
}

// fileAction is what is done to one path of a sandbox.
type fileAction func(f sandbox.Files, w http.ResponseWriter, r *http.Request, path string) error

// onFiles makes a handler of an action. Its parameters are read, and refused, before the sandbox is looked for.
func (a *API) onFiles(n need, read func(*query) fileAction) func(http.ResponseWriter, *http.Request) error {
	return func(w http.ResponseWriter, r *http.Request) error {
		q := &query{r: r}
		path, do := q.Path("path"), read(q)
		if q.err != nil {
			return q.err
		}
		lasts(w)
		return a.use(r.Context(), r.PathValue("task"), n, func(box *sandbox.Sandbox) error { return do(box.Files(""), w, r, path) })
	}
}

// Path is a parameter that is a path. Where one leads to is the sandbox's to say.
func (q *query) Path(name string) string {
	path := q.Text(name)
	switch {
	case q.err != nil:
	case path == "":
		q.err = bad("the parameter " + quote(name) + " is missing: give a path inside the sandbox")
	case strings.ContainsRune(path, 0):
		q.err = bad("the parameter " + quote(name) + " has a NUL byte in it: no path has")
	}
	return path
}

// Mode is a parameter that is permissions, or zero.
func (q *query) Mode(name string) fs.FileMode {
	text := q.Text(name)
	if text == "" {
		return 0
	}
	mode, err := client.ParseMode(text)
	if err != nil {
		q.fail(name, text, "octal digits, as in 0644")
	}
	return mode
}

func finish(w http.ResponseWriter, err error) error {
	if err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

func removeFile(q *query) fileAction {
	all := q.Bool("all")
	return func(f sandbox.Files, w http.ResponseWriter, r *http.Request, path string) error {
		return finish(w, f.Remove(r.Context(), path, all))
	}
}

func makeDirectory(q *query) fileAction {
	mode, parents := q.Mode("mode"), q.Bool("parents")
	return func(f sandbox.Files, w http.ResponseWriter, r *http.Request, path string) error {
		return finish(w, f.Mkdir(r.Context(), path, mode, parents))
	}
}

func renameFile(q *query) fileAction {
	to := q.Path("to")
	return func(f sandbox.Files, w http.ResponseWriter, r *http.Request, path string) error {
		return finish(w, f.Rename(r.Context(), path, to))
	}
}

func statFile(q *query) fileAction {
	itself := q.Text("follow") != "" && !q.Bool("follow")
	return func(f sandbox.Files, w http.ResponseWriter, r *http.Request, path string) error {
		look := f.Stat
		if itself {
			look = f.Lstat
		}
		info, err := look(r.Context(), path)
		if err != nil {
			return err
		}
		return answer(w, http.StatusOK, client.NewFile(info))
	}
}
