package docker

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"

	"github.com/moby/moby/client"

	"hermes.example/hermes/internal/accounts"
	"hermes.example/hermes/sandbox"
)

// maxAccounts bounds what is read of an image's list of users.
const maxAccounts = 1 << 20

// nameUser gives the user that was asked for a name in a container that is not started
// yet, if the image has none for it. Nothing can be put into one that is read-only.
func (m *making) nameUser(ctx context.Context, container string) error {
	if m.spec.User == "" || m.spec.Container != nil && m.spec.Container.ReadOnlyRoot {
		return nil
	}
	uid, gid, err := m.spec.UserIDs()
	if err != nil {
		return err
	}
	known := ""
	user, err := accounts.Resolve(fmt.Sprint(uid), func(file string) (string, error) {
		known, err = m.engine.readFile(ctx, container, "/"+file)
		return known, err
	})
	if err != nil || user.Name != "" {
		return err
	}
	if known != "" && !strings.HasSuffix(known, "\n") {
		known += "\n"
	}
	line, _ := accounts.Stranger(uid, gid, sandbox.Home)
	return m.engine.writeFile(ctx, container, accounts.Users, known+line)
}

// readFile reads a small file of a container.
func (e *Engine) readFile(ctx context.Context, container, file string) (string, error) {
	content, err := e.api.CopyFromContainer(ctx, container, client.CopyFromContainerOptions{SourcePath: file})
	if isNotFound(err) {
		return "", fs.ErrNotExist
	}
	if err != nil {
		return "", explain(err)
	}
	defer content.Content.Close()
	archive := tar.NewReader(content.Content)
	if _, err := archive.Next(); err != nil {
		return "", err
	}
	text, err := io.ReadAll(io.LimitReader(archive, maxAccounts+1))
	if err == nil && len(text) > maxAccounts {
		err = fmt.Errorf("%s is larger than %d bytes", file, maxAccounts)
	}
	return string(text), err
}

// writeFile puts a file of root's into a container, with the directories above it.
func (e *Engine) writeFile(ctx context.Context, container, file, text string) error {
	var archive bytes.Buffer
	w := tar.NewWriter(&archive)
	err := w.WriteHeader(&tar.Header{Name: file, Mode: 0o644, Size: int64(len(text))})
	if err == nil {
		_, err = io.WriteString(w, text)
	}
	if err := errors.Join(err, w.Close()); err != nil {
		return err
	}
	if _, err := e.api.CopyToContainer(ctx, container, client.CopyToContainerOptions{DestinationPath: "/", Content: &archive}); err != nil {
		return explain(err)
	}
	return nil
}
