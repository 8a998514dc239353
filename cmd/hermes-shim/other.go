//go:build !linux

package main

import "os"

func main() {
	os.Stderr.WriteString("hermes-shim runs on Linux only\n")
	os.Exit(1)
}
