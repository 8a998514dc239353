package cli

import (
	"fmt"
	"runtime"

	"github.com/spf13/cobra"

	"hermes.example/hermes/internal/programs"
)

func newInit(a *app) *cobra.Command {
	var arch string
	cmd := &cobra.Command{
		Use:                   "init [--arch ARCH] ROOT",
		DisableFlagsInUseLine: true,
		Hidden:                true, // for who builds an image
		Short:                 "Put the entrypoint of the image into its root directory",
		Long: "Writes hermes-init and hermes-shim, which hermes carries, into the root directory of an image, with the names by\n" +
			"which they are the entrypoint, and the hermes that people type. What has one of the names already is not replaced.",
		Example: "hermes init /\nhermes init --arch arm64 ./rootfs",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return usagef("cannot install the entrypoint: give the root directory of an image")
			}
			return nil
		},
		RunE: func(_ *cobra.Command, args []string) error { return runInit(a, args[0], arch) },
	}
	cmd.Flags().StringVar(&arch, "arch", runtime.GOARCH, "the image's `ARCH`itecture: amd64 or arm64")
	return cmd
}

func runInit(a *app, root, arch string) error {
	if err := programs.InstallInit(root, arch); err != nil {
		return cannot("install the entrypoint", err)
	}
	_, err := fmt.Fprintln(a.stdout, "installed", programs.Init)
	return cannot("write the answer", err)
}
