//go:build linux

package shellstate

import (
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"
)

// BenchmarkSessionCommand runs a line in a plain bash and in one with a typical
// session around it, in turns, and reports the medians and their ratio. The
// budget of the ratio is 1.25 for a plain line.
func BenchmarkSessionCommand(b *testing.B) {
	for _, line := range []string{"true", `: "$HOME"`} {
		b.Run(line, func(b *testing.B) { compare(b, line) })
	}
}

func typicalSession(b *testing.B) *session {
	s := bash(b)
	for i := range 20 {
		s.st.Env[fmt.Sprintf("VARIABLE_%d", i)] = "a value of some length, as they are"
	}
	s.st.Functions = map[string]string{}
	for _, n := range []string{"one", "two", "three"} {
		s.st.Functions[n] = n + " () \n{ \n    local x=$1;\n    if [[ -n $x ]]; then\n        echo \"$x\" | tr a-z A-Z;\n    fi\n}\n"
	}
	s.st.Aliases = map[string]string{"ll": "ls -l"}
	return s
}

func compare(b *testing.B, line string) {
	s := typicalSession(b)
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		b.Fatal(err)
	}
	defer null.Close()
	run := func(cmd *exec.Cmd) float64 {
		cmd.Stdin, cmd.Stdout, cmd.Stderr = null, null, null
		begin := time.Now()
		if err := cmd.Run(); err != nil {
			b.Fatal(err)
		}
		return time.Since(begin).Seconds()
	}
	var plain, ours, around []float64
	for b.Loop() {
		begin := time.Now()
		inv := s.invoke(line, Options{})
		invoked := time.Since(begin)

		cmd := exec.Command("/bin/bash", "-c", line)
		cmd.Env = slices.DeleteFunc(slices.Clone(inv.Env), func(e string) bool { return strings.HasPrefix(e, "BASH_ENV=") })
		plain = append(plain, run(cmd))

		cmd, report := s.command(inv)
		ours = append(ours, run(cmd))
		text := []byte(content(b, report))
		for _, f := range cmd.ExtraFiles {
			f.Close()
		}

		begin = time.Now()
		end, err := Decode(text)
		if err != nil {
			b.Fatal(err)
		}
		s.st.Apply(Delta(inv.Start, end))
		around = append(around, (invoked + time.Since(begin)).Seconds())
	}
	b.ReportMetric(median(plain)*1e6, "plain-µs")
	b.ReportMetric(median(ours)*1e6, "session-µs")
	b.ReportMetric(median(around)*1e6, "go-µs")
	b.ReportMetric(median(ours)/median(plain), "ratio")
}

func median(x []float64) float64 {
	slices.Sort(x)
	return x[len(x)/2]
}
