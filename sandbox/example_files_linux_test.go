package sandbox_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"hermes.example/hermes/sandbox"
)

// Files of a sandbox are read and written below a directory that nothing leads out of,
// with the rights of its commands.
func ExampleFiles() {
	ctx := context.Background()
	manager, box := open("files", sandbox.Spec{})
	defer manager.Close()
	files := box.Files(sandbox.Workspace)
	if err := files.WriteFile(ctx, "greeting", []byte("hello"), 0); err != nil {
		fmt.Println(err)
		return
	}
	if _, err := box.Exec(ctx, sandbox.Command{Line: "tr a-z A-Z <greeting >loud; ln -s /etc/passwd users"}); err != nil {
		fmt.Println(err)
		return
	}
	const limit = 1 << 20
	content, err := files.ReadFile(ctx, "loud", limit)
	fmt.Println(string(content), err)
	_, err = files.ReadFile(ctx, "users", limit) // the link leads out of the workspace, and so nowhere
	fmt.Println(errors.Is(err, fs.ErrNotExist))
	// Output:
	// HELLO <nil>
	// true
}
