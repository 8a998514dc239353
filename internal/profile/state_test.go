package profile

import (
	"runtime"
	"strings"
	"testing"
)

// A file of a few kilobytes that is written back with every level on a line of its own would be as large as the
// square of its depth: PID 1 writes these files, and what is in them is anybody's.
func TestAStateFileDoesNotGrowByItsDepth(t *testing.T) {
	const depth, values = 4000, 4000
	deep := strings.Repeat("[", depth) + "0" + strings.Repeat(",0", values) + strings.Repeat("]", depth)
	f, err := parse([]byte(`{"desired_state":"running","notes":` + deep + `}`))
	if err != nil {
		t.Fatal(err)
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	content, err := f.bytes()
	runtime.ReadMemStats(&after)
	if err != nil || len(content) > 2*len(deep) {
		t.Errorf("%d bytes became %d, %v", len(deep), len(content), err)
	}
	if used := after.TotalAlloc - before.TotalAlloc; used > 4<<20 {
		t.Errorf("writing %d bytes took %d bytes of memory", len(deep), used)
	}
	again, err := parse(content)
	if err != nil || string(again["notes"]) != deep || again.state() != f.state() {
		t.Errorf("what was written is not what was meant: %v", err)
	}
}

func TestAStateFileReadsWell(t *testing.T) {
	f := fields{"desired_state": []byte(`"stopped"`), "a": []byte(`{"b": [1, 2]}`), "\"\n": []byte("null")}
	content, err := f.bytes()
	if want := "{\n  \"\\\"\\n\": null,\n  \"a\": {\"b\":[1,2]},\n  \"desired_state\": \"stopped\"\n}\n"; err != nil || string(content) != want {
		t.Errorf("%v\n%s\nnot\n%s", err, content, want)
	}
}
