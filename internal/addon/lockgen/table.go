package main

import "fmt"

func table(root string) ([]byte, error) { return nil, nil }

func megabytes(bytes int64) string { return fmt.Sprintf("%.1f MB", float64(bytes)/1e6) }
