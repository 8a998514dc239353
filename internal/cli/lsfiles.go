package cli

import (
	"context"
	"encoding/base64"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"hermes.example/hermes/sandbox"
)

type lsFilesOptions struct {
	target
	recursive, json bool
}

func newLsFiles(a *app) *cobra.Command {
	var o lsFilesOptions
	cmd := &cobra.Command{
		Use:                   "ls-files [FLAG…] [PATH]",
		DisableFlagsInUseLine: true,
		Short:                 "List files of a sandbox",
		Long: "Lists what is in a directory of the sandbox (default where commands run), sorted by name, with the rights of its commands.\n" +
			"A path that does not begin with a slash lies there, too. Links are shown and not followed.",
		Example: "hermes sandbox ls-files --task build\n" +
			"hermes sandbox ls-files -R --json /workspace/src",
		ValidArgsFunction: cobra.NoFileCompletions,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 1 {
				return usagef("cannot list %d paths: give one", len(args))
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			return runLsFiles(cmd.Context(), a, &o, strings.Join(args, ""))
		},
	}
	o.addTarget(a, cmd)
	cmd.Flags().BoolVarP(&o.recursive, "recursive", "R", false, "list what is in the directories below, too")
	cmd.Flags().BoolVar(&o.json, "json", false, "print a JSON array")
	return cmd
}

// fileRow is a file as --json prints it.
type fileRow struct {
	Name string `json:"name"`
	// NameBase64 is the exact name, where the text had to replace bytes of it.
	NameBase64 string    `json:"name_base64,omitempty"`
	Type       string    `json:"type"`
	Mode       string    `json:"mode"`
	Size       int64     `json:"size"`
	Modified   time.Time `json:"modified"`
	UID        uint32    `json:"uid"`
	GID        uint32    `json:"gid"`
	Link       string    `json:"link,omitempty"`
	LinkBase64 string    `json:"link_base64,omitempty"`
}

func runLsFiles(ctx context.Context, a *app, o *lsFilesOptions, where string) error {
	return o.files(ctx, a, "list files", func(files sandbox.Files) error {
		found, err := o.find(ctx, files, insidePath(where))
		if err != nil {
			return err
		}
		slices.SortFunc(found, func(x, y sandbox.FileInfo) int { return strings.Compare(x.Path, y.Path) })
		if o.json {
			rows := make([]fileRow, len(found))
			for i, f := range found {
				rows[i] = newFileRow(f)
			}
			return writeJSON(a.stdout, rows)
		}
		table := make([][]cell, len(found))
		for i, f := range found {
			table[i] = fileCells(f)
		}
		return writeTable(a.stdout, a.paint(), table)
	})
}

// find lists a directory, or the one file that a path names.
func (o *lsFilesOptions) find(ctx context.Context, files sandbox.Files, where string) ([]sandbox.FileInfo, error) {
	info, err := files.Stat(ctx, where)
	if err != nil {
		return nil, err
	}
	if !info.Mode.IsDir() {
		info.Path = path.Base(where)
		return []sandbox.FileInfo{info}, nil
	}
	depth := 0
	if o.recursive {
		depth = 255
	}
	var found []sandbox.FileInfo
	for f, err := range files.List(ctx, where, sandbox.ListOptions{Depth: depth}) {
		if err != nil {
			return nil, err
		}
		found = append(found, f)
	}
	return found, nil
}

func fileCells(f sandbox.FileInfo) []cell {
	name := cell{printable(f.Path), ""}
	switch {
	case f.Mode.IsDir():
		name = cell{printable(f.Path) + "/", bold}
	case f.Link != "":
		name.text += " -> " + printable(f.Link)
	case f.Mode&0o111 != 0:
		name.colour = green
	}
	return []cell{{f.Mode.String(), ""}, {fmt.Sprintf("%d:%d", f.UID, f.GID), ""}, {fmt.Sprint(f.Size), ""},
		{f.Time.Local().Format(time.DateTime), ""}, name}
}

func newFileRow(f sandbox.FileInfo) fileRow {
	row := fileRow{Type: fileType(f.Mode), Mode: fmt.Sprintf("%04o", f.Mode.Perm()), Size: f.Size, Modified: f.Time, UID: f.UID, GID: f.GID}
	row.Name, row.NameBase64 = nameText(f.Path)
	row.Link, row.LinkBase64 = nameText(f.Link)
	return row
}

// nameText is a name as JSON can hold it, with the exact bytes where that is not the same.
func nameText(name string) (text, exact string) {
	if utf8.ValidString(name) {
		return name, ""
	}
	return valid([]byte(name)), base64.StdEncoding.EncodeToString([]byte(name))
}

func fileType(m fs.FileMode) string {
	switch {
	case m.IsRegular():
		return "file"
	case m.IsDir():
		return "directory"
	case m&fs.ModeSymlink != 0:
		return "link"
	case m&fs.ModeNamedPipe != 0:
		return "pipe"
	case m&fs.ModeSocket != 0:
		return "socket"
	}
	return "device"
}
