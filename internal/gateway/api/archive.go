package api

import (
	"encoding/json"
	"io"
	"net/http"

	"hermes.example/hermes/client"
	"hermes.example/hermes/sandbox"
)

func (a *API) archiveOperations() []Operation {
	const route = "/v1/sandboxes/{task}/archive"
	bounds := []Parameter{
		{Name: "bytes", In: inQuery, Type: int64(0), Description: "how many bytes all files together may have; 64 GiB if it is not there"},
		{Name: "entries", In: inQuery, Type: int64(0), Description: "how many files, links and directories there may be; a million if it is not there"},
	}
	return []Operation{
		{
			Method: "GET", Path: route, ID: "copyOut", Tag: "files",
			Summary: "Copy a file or directory out, as a tar stream",
			Detail:  "The trailer " + client.CopyTrailer + " says what it held; an archive without it is not whole. It was made inside: whoever unpacks it must not trust its names.",
			Parameters: append([]Parameter{pathParameter,
				{Name: "as", In: inQuery, Description: "the name that it has in the archive; without one the archive has what is in the directory"}}, bounds...),
			Answers: []Answer{{Status: 200, Description: "the archive", Media: mediaTar}}, Errors: fileErrors,
			Handle: a.onFiles(existing, copyOut),
		},
		{
			Method: "PUT", Path: route, ID: "copyIn", Tag: "files",
			Summary:    "Unpack a tar stream into a directory that exists",
			Detail:     "All of it belongs to the sandbox's user; owners, set-id bits and devices do not count. Names that lead out of the directory, or through a link, are refused. A file appears when it is whole; what was whole before an error stays.",
			Parameters: append([]Parameter{pathParameter}, bounds...),
			Request:    &Body{Media: mediaTar, Limit: -1},
			Answers:    []Answer{{Status: 200, Description: "what was copied", Type: sandbox.CopyResult{}}}, Errors: fileErrors,
			Handle: a.onFiles(made, copyIn),
		},
	}
}

// copyBounds reads how much may be copied. What goes beyond is refused while it is copied.
func copyBounds(q *query) sandbox.CopyOptions {
	o := sandbox.CopyOptions{Bytes: q.Int("bytes", 0), Entries: int(q.Int("entries", 0))}
	if (o.Bytes < 0 || o.Entries < 0) && q.err == nil {
		q.err = bad("bytes and entries must not be negative")
	}
	return o
}

func copyOut(q *query) fileAction {
	as, bounds := q.Text("as"), copyBounds(q)
	return func(f sandbox.Files, w http.ResponseWriter, r *http.Request, path string) error {
		archive, err := f.CopyOut(r.Context(), path, as, bounds)
		if err != nil {
			return err
		}
		defer archive.Close()
		out := newOutflow(w)
		defer out.end()
		w.Header().Set("Content-Type", mediaTar)
		w.Header().Set("Trailer", client.CopyTrailer)
		if _, err := io.Copy(out, archive); err != nil {
			panic(http.ErrAbortHandler) // half an archive must not look like a whole one
		}
		result, err := archive.Result()
		if err != nil {
			panic(http.ErrAbortHandler)
		}
		text, _ := json.Marshal(result)
		w.Header().Set(client.CopyTrailer, string(text))
		return nil
	}
}

func copyIn(q *query) fileAction {
	bounds := copyBounds(q)
	return func(f sandbox.Files, w http.ResponseWriter, r *http.Request, path string) error {
		result, err := f.CopyIn(r.Context(), path, newInflow(w, r), bounds)
		if err != nil {
			return received(err)
		}
		return answer(w, http.StatusOK, result)
	}
}
