package truth

import "testing"

func TestOf(t *testing.T) {
	for _, yes := range []string{"1", "true", "TRUE", "True", "yes", "YES", "Yes"} {
		if !Of(yes) {
			t.Errorf("%q is not true", yes)
		}
	}
	for _, no := range []string{"", "0", "no", "false", "on", "ON", "y", "tRUE", " 1", "1 ", "10", "-1", "yess"} {
		if Of(no) {
			t.Errorf("%q is true", no)
		}
	}
}
