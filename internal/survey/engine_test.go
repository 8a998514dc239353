package survey

import "testing"

func TestPodmanTakesDockersPlace(t *testing.T) {
	docker := Listed{Engine: "docker", Problem: "nothing is there", Absent: true}
	for _, c := range []struct {
		podman  Listed
		problem string
	}{
		{Listed{Engine: "podman"}, ""},
		{Listed{Engine: "podman", Problem: "nothing is there either", Absent: true}, "nothing is there"},
	} {
		choice := Engine{Name: "docker", Why: "it was asked for"}
		if choice.Judge([]Listed{docker, c.podman}); choice.Problem != c.problem {
			t.Errorf("beside %+v: %+v", c.podman, choice)
		}
	}
}
