package lastwords

import (
	"strings"
	"testing"
)

func TestSecretsAreHidden(t *testing.T) {
	var s Secrets
	for _, address := range []string{"http://user:p%40ss%2Fword@h/x", "http://token-alone@h/", "http://h/?key=in-the-query", "/bin", "ab"} {
		s.Address(address)
	}
	s.Value("by-name")
	s.Value("by-name-longer")
	s.Value("-----BEGIN-----\nline of a key\n-----END-----\n")
	s.Value(`quo"ted value`)
	s.Value(`ends in "quotes"`)
	for text, want := range map[string]string{
		"p@ss/word p%40ss%2Fword token-alone key=in-the-query /bin": "*** *** *** *** /bin",
		"http://x:y@h/z https://a@h":                                "http://***@h/z https://***@h",
		"by-name by-name-longer":                                    "*** ***",
		"only the line of a key is left":                            "only the *** is left",
		`{"key":"quo\"ted value"} ?key=quo%22ted+value`:             `{"key":"***"} ?key=***`,
		`{"key":"ends in \"quotes\""}`:                              `{"key":"***"}`,
	} {
		if got := s.Hide(text); got != want {
			t.Errorf("%q: %q", text, got)
		}
	}
}

// The part of a secret that a cut leaves is one, too.
func TestTheTailBeginsWithAWholeLine(t *testing.T) {
	var end Tail
	for range kept {
		if n, err := end.Write([]byte("word ")); n != 5 || err != nil {
			t.Fatal(n, err)
		}
	}
	if text := end.Text(); text != "" {
		t.Errorf("one line without an end: %.50q", text)
	}
	end.Write([]byte("\nlast\n"))
	if text := end.Text(); text != "last" || len(end.data) != kept || cap(end.data) > 2*kept {
		t.Errorf("%.50q, %d of %d bytes", text, len(end.data), cap(end.data))
	}
	end.Write([]byte(strings.Repeat("x", 3*kept) + "\nnow\xff\n"))
	if text := end.Text(); text != "now?" || len(end.data) != kept || cap(end.data) > 2*kept {
		t.Errorf("%.50q, %d of %d bytes", text, len(end.data), cap(end.data))
	}
}
