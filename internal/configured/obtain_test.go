package configured

import (
	"testing"

	"hermes.example/hermes/sandbox"
)

func TestWhatIsConfiguredNowTakesThePlaceOfWhatWas(t *testing.T) {
	mine := sandbox.Mount{Source: "/mine", Target: "/mine"}
	was := sandbox.Mount{Source: "/was", Target: "/was", Origin: sandbox.ByConfig}
	now := sandbox.Mount{Source: "/now", Target: "/now", Origin: sandbox.ByProfile}
	here := sandbox.Mount{Source: "/here", Target: sandbox.Workspace, Origin: sandbox.ByConfig}
	s := &Sandboxes{options: Options{}.completed()}
	for name, test := range map[string]struct {
		spec       sandbox.Spec
		configured []sandbox.Mount
		want       sandbox.Spec
	}{
		"a new set":          {sandbox.Spec{Mounts: []sandbox.Mount{mine, was}}, []sandbox.Mount{now}, sandbox.Spec{Mounts: []sandbox.Mount{mine, now}}},
		"nothing any more":   {sandbox.Spec{Mounts: []sandbox.Mount{mine, was}}, nil, sandbox.Spec{Mounts: []sandbox.Mount{mine}}},
		"the workspace":      {sandbox.Spec{Image: "i"}, []sandbox.Mount{here}, sandbox.Spec{Image: "i", Cwd: sandbox.Workspace, Mounts: []sandbox.Mount{here}}},
		"another directory":  {sandbox.Spec{Image: "i", Cwd: "/x"}, []sandbox.Mount{here}, sandbox.Spec{Image: "i", Cwd: "/x", Mounts: []sandbox.Mount{here}}},
		"the image's choice": {sandbox.Spec{Image: "i"}, []sandbox.Mount{now}, sandbox.Spec{Image: "i", Mounts: []sandbox.Mount{now}}},
	} {
		got := s.join(test.spec, configuration{mounts: test.configured})
		if got.Hash() != test.want.Hash() {
			t.Errorf("%s: %v", name, test.want.Difference(got))
		}
	}
}
