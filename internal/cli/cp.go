package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"

	"github.com/spf13/cobra"

	"hermes.example/hermes/sandbox"
)

type cpOptions struct {
	target
	maxSize string
}

func newCp(a *app) *cobra.Command {
	var o cpOptions
	cmd := &cobra.Command{
		Use:                   "cp [FLAG…] SOURCE DESTINATION",
		DisableFlagsInUseLine: true,
		Short:                 "Copy files into a sandbox, or out of it",
		Long: "Copies a file or a directory with all that is in it. The one path that begins with a colon is the sandbox's, the\n" +
			"other one is yours; without a slash it lies where commands run (" + sandbox.Workspace + "). As with cp, a destination\n" +
			"that is a directory gets the source in it, and SOURCE/. is what is in a directory. \"-\" is a tar stream on\n" +
			"standard input or output.\n" +
			"Links are copied as links, the one that SOURCE itself is excepted. What arrives belongs to the sandbox's user, or to\n" +
			"you; owners, set-id bits, devices, pipes and sockets are left behind. A file that is there is replaced when the new\n" +
			"one is whole.",
		Example: "hermes sandbox cp --task build ./src :            # /workspace/src\n" +
			"hermes sandbox cp --task build :out/report.html .\n" +
			"hermes sandbox cp ./data/. :/tmp                  # what is in ./data\n" +
			"hermes sandbox cp :/workspace/. - > workspace.tar",
		ValidArgsFunction: cobra.FixedCompletions(nil, cobra.ShellCompDirectiveDefault),
		RunE:              func(cmd *cobra.Command, args []string) error { return runCp(cmd.Context(), a, &o, args) },
	}
	o.addTarget(a, cmd)
	cmd.Flags().StringVar(&o.maxSize, "max-size", "", "`SIZE` that all files together may have, like 512m or 2g (default 64g)")
	return cmd
}

// stdio is the path that means a tar stream.
const stdio = "-"

func runCp(ctx context.Context, a *app, o *cpOptions, args []string) error {
	if len(args) != 2 {
		return usagef("cannot copy: give one source and one destination, of which one begins with \":\"")
	}
	from, to := args[0], args[1]
	into := strings.HasPrefix(to, ":")
	if into == strings.HasPrefix(from, ":") {
		return usagef("cannot copy %q to %q: exactly one of them must begin with \":\", the sandbox's", from, to)
	}
	var limits sandbox.CopyOptions
	if o.maxSize != "" {
		var err error
		if limits.Bytes, err = parseMemory(o.maxSize); err != nil || limits.Bytes <= 0 {
			return usagef("cannot use --max-size %q: give a size like 512m or 2g", o.maxSize)
		}
	}
	if from == stdio && isTerminal(a.stdin) || to == stdio && isTerminal(a.stdout) {
		return usagef("cannot use a terminal for a tar stream; redirect it")
	}
	return o.files(ctx, a, "copy", func(files sandbox.Files) error {
		c := &copying{app: a, files: files, limits: limits}
		done := c.watch()
		defer done()
		var res sandbox.CopyResult
		var err error
		if into {
			res, err = c.in(ctx, from, insidePath(to))
		} else {
			res, err = c.out(ctx, insidePath(from), to)
		}
		if err != nil {
			return err
		}
		done()
		c.remark(res)
		return nil
	})
}

// copying is one copy at work.
type copying struct {
	*app
	files  sandbox.Files
	limits sandbox.CopyOptions
	meter
}

// remark says what was not copied.
func (c *copying) remark(res sandbox.CopyResult) {
	if res.Skipped > 0 {
		c.say("left out %s: devices, pipes, sockets or the kernel's own", plural(res.Skipped, "entry", "entries"))
	}
	if res.Changed > 0 {
		c.say("%s became shorter while being copied; zeros stand for what was gone", plural(res.Changed, "file", "files"))
	}
}

// in copies a path of the host, or a tar stream, to a path inside.
func (c *copying) in(ctx context.Context, from, to string) (sandbox.CopyResult, error) {
	if from == stdio {
		return c.files.CopyIn(ctx, to, c.reader(c.stdin), c.limits)
	}
	source, err := openSource(from)
	if err != nil {
		return sandbox.CopyResult{}, err
	}
	defer source.close()
	plan, err := c.plan(source.name, source.isDir, to, func(path string) (exists, isDir bool, err error) {
		info, err := c.files.Stat(ctx, path)
		return there(err, info.Mode.IsDir())
	})
	if err != nil {
		return sandbox.CopyResult{}, err
	}
	if plan.makeDir {
		if err := c.files.Mkdir(ctx, plan.dir, 0o755, false); err != nil {
			return sandbox.CopyResult{}, err
		}
	}
	packed := &packing{source: source, as: plan.as, limits: c.limits, meter: &c.meter}
	res, err := c.files.CopyIn(ctx, plan.dir, packed, c.limits)
	res.Skipped += packed.result.Skipped
	res.Changed += packed.result.Changed
	return res, err
}

// out copies a path inside to one of the host, or to a tar stream.
func (c *copying) out(ctx context.Context, from, to string) (sandbox.CopyResult, error) {
	info, err := c.files.Stat(ctx, from)
	if err != nil {
		return sandbox.CopyResult{}, err
	}
	name := sourceName(from)
	if to == stdio {
		archive, err := c.files.CopyOut(ctx, from, name, c.limits)
		if err != nil {
			return sandbox.CopyResult{}, err
		}
		defer archive.Close()
		if _, err := io.CopyBuffer(struct{ io.Writer }{c.stdout}, c.reader(archive), make([]byte, copyBuffer)); err != nil {
			return sandbox.CopyResult{}, err
		}
		return archive.Result()
	}
	plan, err := c.plan(name, info.Mode.IsDir(), to, statHost)
	if err != nil {
		return sandbox.CopyResult{}, err
	}
	return c.unpack(ctx, from, plan)
}

// there says what a look at a path found: that there is nothing is no error.
func there(err error, isDir bool) (bool, bool, error) {
	if errors.Is(err, fs.ErrNotExist) {
		return false, false, nil
	}
	return err == nil, isDir, err
}

// plan is where a copy goes, as cp would decide it: in the directory dir, under the name as. With an empty name
// it is what is in the source that goes there.
type plan struct {
	dir, as string
	makeDir bool
}

// plan decides where a source of a name goes. The name is empty when what is in the source is meant.
func (c *copying) plan(name string, isDir bool, to string, stat func(string) (exists, toIsDir bool, err error)) (plan, error) {
	exists, toIsDir, err := stat(to)
	if err != nil {
		return plan{}, err
	}
	above, base := splitPath(to)
	switch {
	case name == "" && !isDir:
		return plan{}, fmt.Errorf("cannot copy what is in the source: it is not a directory")
	case exists && toIsDir:
		return plan{dir: to, as: name}, nil
	case exists && isDir:
		return plan{}, fmt.Errorf("cannot replace the file %q by a directory", to)
	case !exists && strings.HasSuffix(to, "/") && !isDir:
		return plan{}, fmt.Errorf("cannot copy to %q: there is no such directory", to)
	case name == "":
		return plan{dir: to, makeDir: true}, nil
	case base == "":
		return plan{}, fmt.Errorf("cannot copy to %q: it names no file", to)
	}
	return plan{dir: above, as: base}, nil
}

// splitPath cuts off the last part of a path, which is empty where that is no name.
func splitPath(p string) (dir, base string) {
	p = strings.TrimRight(p, "/")
	i := strings.LastIndexByte(p, '/')
	dir, base = p[:i+1], p[i+1:]
	if dir == "" {
		dir = "."
	}
	if base == "." || base == ".." {
		base = ""
	}
	return dir, base
}

// sourceName is the name that a source brings along. A path that ends in dots means what is in the directory.
func sourceName(p string) string {
	_, base := splitPath(p)
	return base
}
