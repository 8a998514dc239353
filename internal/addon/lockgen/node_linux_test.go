package main

import (
	"bufio"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"hermes.example/hermes/internal/addon/install"
	"hermes.example/hermes/internal/addon/npm"
	"hermes.example/hermes/internal/addon/sealed"
	"hermes.example/hermes/internal/addon/vet"
)

// initialize is what every server of tools is asked first.
const initialize = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"hermes","version":"1"}}}` + "\n"

// Every feature of npm is installed from the registry, passes the check, and answers when its entry is started.
func TestEveryLockedFeatureOfNPMAnswers(t *testing.T) {
	if os.Getenv("HERMES_RUN_NETWORK_TESTS") != "1" {
		t.Skip("it uses the network: make test-network")
	}
	trees, err := readTrees(filepath.Join(top, locksDir))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	i := install.Installer{Runtime: &sealed.Runtime{}, Cache: filepath.Join(dir, "cache"), Environ: os.Environ()}
	node := npm.Program(os.Getenv("PATH"), "node")
	if !i.HasNode() {
		t.Skip("there is no Node.js with npm")
	}
	for _, f := range ofNPM() {
		t.Run(f.Name, func(t *testing.T) {
			modules := filepath.Join(dir, f.Name, "node_modules")
			if err := i.InstallTree(t.Context(), trees[f.Name], f.Specs, modules); err != nil {
				t.Fatal(err)
			}
			if _, err := vet.CheckTree(modules, trees[f.Name]); err != nil {
				t.Fatal(err)
			}
			file, _ := f.NodeEntry()
			home := t.TempDir()
			fill := strings.NewReplacer("{workspace}", home, "{data}", home)
			cmd := exec.CommandContext(t.Context(), node, filepath.Join(modules, file))
			cmd.Env = []string{"HOME=" + home, "PATH=/usr/bin:/bin"}
			for _, arg := range f.Args {
				cmd.Args = append(cmd.Args, fill.Replace(arg))
			}
			for name, value := range f.Env {
				cmd.Env = append(cmd.Env, name+"="+fill.Replace(value))
			}
			cmd.WaitDelay = time.Second
			in, err := cmd.StdinPipe()
			if err != nil {
				t.Fatal(err)
			}
			out, err := cmd.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			defer func() {
				_ = cmd.Process.Kill()
				_ = cmd.Wait() // it was killed
			}()
			if _, err := in.Write([]byte(initialize)); err != nil {
				t.Fatal(err)
			}
			line, err := bufio.NewReader(out).ReadString('\n')
			var answer struct {
				Result struct{ ServerInfo struct{ Name string } }
			}
			if err != nil || json.Unmarshal([]byte(line), &answer) != nil || answer.Result.ServerInfo.Name == "" {
				t.Errorf("it says %q, %v", line, err)
			}
		})
	}
}
