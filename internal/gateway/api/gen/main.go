// Program gen writes the OpenAPI document of the gateway's API to the file that it is given.
package main

import (
	"fmt"
	"os"

	"hermes.example/hermes/internal/gateway/api"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: gen FILE")
		os.Exit(2)
	}
	if err := os.WriteFile(os.Args[1], api.Document(), 0o644); err != nil {
		fmt.Fprintln(os.Stderr, "gen:", err)
		os.Exit(1)
	}
}
