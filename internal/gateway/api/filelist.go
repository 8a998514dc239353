package api

import (
	"bufio"
	"encoding/json"
	"net/http"

	"hermes.example/hermes/client"
	"hermes.example/hermes/sandbox"
)

// How many entries a listing has unless it is asked for more, and at most.
const (
	usualEntries = 10_000
	mostEntries  = 1_000_000
	mostDepth    = 255
)

// listFiles answers with a [client.Listing], written entry by entry: a large directory is in nobody's memory.
func listFiles(q *query) fileAction {
	depth, limit := q.Int("depth", 0), q.Int("limit", usualEntries)
	if (depth < 0 || depth > mostDepth || limit < 1 || limit > mostEntries) && q.err == nil {
		q.err = bad("cannot list that: depth is 0 to 255, and limit 1 to 1000000")
	}
	return func(f sandbox.Files, w http.ResponseWriter, r *http.Request, path string) error {
		l := &listWriter{out: newOutflow(w)}
		defer l.out.end()
		// A sandbox lists all or nothing, so it is asked for all and stopped: one more than asked for shows that there are more.
		for info, err := range f.List(r.Context(), path, sandbox.ListOptions{Depth: int(depth), Entries: mostEntries + 1}) {
			if err != nil && l.to == nil {
				return err
			}
			if err != nil {
				return l.finish(err, false)
			}
			if l.entries == int(limit) {
				return l.finish(nil, true)
			}
			if !l.write(info) {
				return nil // who asked has gone
			}
		}
		return l.finish(nil, false)
	}
}

// listWriter writes a listing. Its answer begins with the first entry, or at its end.
type listWriter struct {
	out     *outflow
	to      *bufio.Writer
	entries int
}

func (l *listWriter) begin() {
	if l.to == nil {
		l.to = bufio.NewWriterSize(l.out, 64<<10)
		l.out.Header().Set("Content-Type", mediaJSON)
		l.to.WriteString(`{"entries":[`)
	}
}

func (l *listWriter) write(info sandbox.FileInfo) bool {
	l.begin()
	if l.entries > 0 {
		l.to.WriteByte(',')
	}
	l.entries++
	text, _ := json.Marshal(client.NewFile(info)) // it has nothing that JSON has not
	_, err := l.to.Write(text)
	return err == nil
}

// finish says at the end what can no longer be said at the beginning.
func (l *listWriter) finish(err error, truncated bool) error {
	l.begin()
	l.to.WriteByte(']')
	if truncated {
		l.to.WriteString(`,"truncated":true`)
	}
	if err != nil {
		text, _ := json.Marshal(problemOf(err))
		l.to.WriteString(`,"problem":`)
		l.to.Write(text)
	}
	l.to.WriteString("}\n")
	l.to.Flush()
	return nil
}
