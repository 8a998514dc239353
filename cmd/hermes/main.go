// Command hermes is what people and agents call.
package main

import (
	"os"

	"hermes.example/hermes/internal/cli"
)

func main() { os.Exit(cli.Main()) }
