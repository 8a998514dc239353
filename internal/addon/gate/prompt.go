package gate

import (
	"fmt"
	"io"
	"strings"
)

// Confirm asks a person whether to install something. An empty answer means yes; everything that
// is not, and no answer at all, means no. It is for its caller to know that both are terminals:
// where they are not nobody is asked.
func Confirm(in io.Reader, out io.Writer, feature string, missing []string) bool {
	if _, err := fmt.Fprintf(out, "Install %s (%s)? [Y/n] ", feature, strings.Join(missing, ", ")); err != nil {
		return false
	}
	answer, err := readLine(in)
	if err != nil && answer == "" {
		fmt.Fprintln(out) // nobody ended the line, and what follows begins a new one
		return false
	}
	switch strings.ToLower(strings.TrimSpace(answer)) {
	case "", "y", "yes":
		return true
	}
	return false
}

// readLine takes no byte beyond the line: what follows is for who reads next.
func readLine(in io.Reader) (string, error) {
	var line []byte
	for b := make([]byte, 1); ; {
		n, err := in.Read(b)
		if n > 0 && b[0] == '\n' {
			return string(line), nil
		}
		line = append(line, b[:n]...)
		if err != nil {
			return string(line), err
		}
	}
}
