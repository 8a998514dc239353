package sealed

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"hermes.example/hermes/internal/atomicfile"
	pyruntime "hermes.example/hermes/runtime"
)

const (
	askBound  = 30 * time.Second
	answerMax = 8 << 20
)

// answer is what is kept of an interpreter that was asked.
type answer struct {
	Key         string          `json:"key"`
	Description json.RawMessage `json:"description"`
}

// askOnce describes a virtual environment by its own interpreter, or by what it said before if nothing was installed
// since. An answer that cannot be kept is asked for again.
func askOnce(ctx context.Context, r *Runtime, cache string) (Description, error) {
	key, err := askKey(r)
	if err != nil {
		return Description{}, err
	}
	kept := filepath.Join(cache, "core.json")
	if cache != "" {
		var known answer
		if text, err := atomicfile.Read(kept); err == nil && json.Unmarshal(text, &known) == nil && known.Key == key {
			if d, err := parse(known.Description); err == nil {
				return d, nil
			}
		}
	}
	text, err := ask(ctx, r.Python())
	if err != nil {
		return Description{}, err
	}
	d, err := parse(text)
	if err == nil && cache != "" {
		if text, err := json.Marshal(answer{Key: key, Description: text}); err == nil {
			_ = atomicfile.Replace(kept, text, 0o644)
		}
	}
	return d, err
}

// askKey changes with what the answer depends on: the question, the interpreter, and the directories with packages,
// whose times change with every distribution that comes or goes.
func askKey(r *Runtime) (string, error) {
	config, err := os.ReadFile(r.file("pyvenv.cfg"))
	if err != nil {
		return "", fmt.Errorf("it is no virtual environment: %w", err)
	}
	key := sha256.New()
	fmt.Fprintf(key, "%s\x00%s\x00%s", pyruntime.Describe, r.Root, config)
	dirs, err := filepath.Glob(r.file("lib", "python*", "site-packages"))
	if err != nil {
		return "", err
	}
	for _, path := range append(dirs, r.Python(), r.file("bin")) {
		info, err := os.Stat(path)
		if err != nil {
			return "", err
		}
		fmt.Fprintf(key, "\x00%s %d %d", path, info.Size(), info.ModTime().UnixNano())
	}
	return hex.EncodeToString(key.Sum(nil)), nil
}

// ask starts an interpreter. Of the caller's environment it sees nothing.
func ask(ctx context.Context, python string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, askBound)
	defer cancel()
	out, said := bounded{max: answerMax}, bounded{max: 4 << 10}
	cmd := exec.CommandContext(ctx, python, "-I", "-c", pyruntime.Describe)
	cmd.Env = []string{"LC_ALL=C.UTF-8"}
	cmd.Stdout, cmd.Stderr = &out, &said
	cmd.WaitDelay = time.Second
	if err := cmd.Run(); err != nil {
		if ctx.Err() != nil {
			err = ctx.Err()
		}
		return nil, fmt.Errorf("its interpreter does not describe it: %w%s", err, lastLine(said.all))
	}
	return out.all, nil
}

func lastLine(said []byte) string {
	said = bytes.TrimSpace(said)
	if len(said) == 0 {
		return ""
	}
	return ": " + string(said[bytes.LastIndexByte(said, '\n')+1:])
}

// bounded is a buffer with an end.
type bounded struct {
	all []byte
	max int
}

func (b *bounded) Write(p []byte) (int, error) {
	if len(b.all)+len(p) > b.max {
		return 0, errors.New("it says too much")
	}
	b.all = append(b.all, p...)
	return len(p), nil
}
