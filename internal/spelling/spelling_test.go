package spelling

import "testing"

func TestHowFarApartWordsAre(t *testing.T) {
	for _, test := range []struct {
		a, b string
		want int
	}{{"", "", 0}, {"abc", "abc", 0}, {"", "abc", 3}, {"abc", "", 3}, {"abc", "abd", 1}, {"abc", "ab", 1}, {"ab", "abc", 1}, {"ab", "ba", 2}, {"kitten", "sitting", 3}} {
		if got := Distance(test.a, test.b); got != test.want {
			t.Errorf("%q is %d from %q, want %d", test.a, got, test.b, test.want)
		}
	}
}
