package cli

import (
	"encoding/base64"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"unicode/utf8"
)

// feed writes data in pieces, so that characters are cut.
func feed(limit int, data string, piece int) captured {
	c := &capture{limit: limit}
	for len(data) > 0 {
		n := min(piece, len(data))
		c.Write([]byte(data[:n]))
		data = data[n:]
	}
	return c.finish()
}

func TestOutputThatFitsIsExact(t *testing.T) {
	for _, data := range []string{"", "a", "hello\n", strings.Repeat("x", 100), strings.Repeat("é", 100), strings.Repeat("🜁", 100)} {
		for _, limit := range []int{0, 100, 1000} {
			for _, piece := range []int{1, 3, 1000} {
				if got := feed(limit, data, piece); got != (captured{text: data}) {
					t.Errorf("limit %d, piece %d: %+v", limit, piece, got)
				}
			}
		}
	}
}

func TestBytesThatAreNoCharactersAreReplacedAndKept(t *testing.T) {
	for _, data := range []string{"a\xffb", "\xc3", "ok\xe2\x82", "\x80\x80"} {
		got := feed(100, data, 1)
		if !utf8.ValidString(got.text) || !strings.Contains(got.text, "\uFFFD") {
			t.Errorf("%q: text %q", data, got.text)
		}
		if raw, err := base64.StdEncoding.DecodeString(got.base64); err != nil || string(raw) != data {
			t.Errorf("%q: base64 of %q, %v", data, raw, err)
		}
	}
}

func TestLongOutputKeepsHeadAndTail(t *testing.T) {
	for _, char := range []string{"x", "é", "🜁"} {
		for _, total := range []int{1001, 1100, 1600, 5000, 12345, 200_000} {
			data := "BEGIN" + strings.Repeat(char, total-8) + "END"
			got := feed(1000, data, 4096)
			if n := utf8.RuneCountInString(got.text); n > 1000 || n < 990 {
				t.Errorf("%s × %d: %d characters", char, total, n)
			}
			if !strings.HasPrefix(got.text, "BEGIN"+char) || !strings.HasSuffix(got.text, char+"END") {
				t.Errorf("%s × %d: %q … %q", char, total, got.text[:20], got.text[len(got.text)-20:])
			}
			if got.total != int64(total) || !strings.Contains(got.text, fmt.Sprintf("omitted out of %d total]", total)) {
				t.Errorf("%s × %d: total %d in %q", char, total, got.total, got.text)
			}
			head, tail, found := strings.Cut(got.text, "\n\n... [")
			_, tail, _ = strings.Cut(tail, "] ...\n\n")
			h, l := utf8.RuneCountInString(head), utf8.RuneCountInString(tail)
			if !found || h < 350 || l < 550 {
				t.Errorf("%s × %d: head %d, tail %d", char, total, h, l)
			}
			if !strings.Contains(got.text, fmt.Sprintf("- %d chars omitted", total-h-l)) {
				t.Errorf("%s × %d: the notice does not count right: %q", char, total, got.text[len(head):len(head)+80])
			}
		}
	}
}

func TestAnyLimitHolds(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	for range 300 {
		limit := 1 + random.IntN(200)
		var b strings.Builder
		for range random.IntN(2000) {
			b.WriteString([]string{"a", "é", "漢", "🜁", "\xff", "\xe2\x82"}[random.IntN(6)])
		}
		data := b.String()
		got := feed(limit, data, 1+random.IntN(50))
		if n := utf8.RuneCountInString(got.text); n > limit || !utf8.ValidString(got.text) {
			t.Fatalf("limit %d, %d bytes: %d characters", limit, len(data), n)
		}
		if (got.total == 0) != (utf8.RuneCountInString(data) <= limit) {
			t.Fatalf("limit %d, %d characters: total %d", limit, utf8.RuneCountInString(data), got.total)
		}
	}
}
