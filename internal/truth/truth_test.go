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

func TestInAnyCase(t *testing.T) {
	for value, want := range map[string]bool{"1": true, "tRUE": true, "yEs": true, "on": false, "": false, "yess": false, "0": false} {
		if InAnyCase(value) != want {
			t.Errorf("%q is not %v", value, want)
		}
	}
}
