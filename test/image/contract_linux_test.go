package image

import (
	"encoding/json"
	"maps"
	"os"
	"reflect"
	"slices"
	"testing"
)

// contract is image/contract.json: what everybody who runs the image may rely on.
type contract struct {
	Env          []string
	User         string
	WorkingDir   string
	Volumes      []string
	Entrypoint   []string
	Cmd          []string
	ExposedPorts []string
	Healthcheck  map[string]any
	Labels       map[string]string // "*" is any value but none
	Tools        map[string][]string
}

func table(t *testing.T) (c contract) {
	t.Helper()
	text, err := os.ReadFile("../../image/contract.json")
	if err == nil {
		err = json.Unmarshal(text, &c)
	}
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// inspected is the image's configuration in the form of the table.
func inspected(t *testing.T, image string) contract {
	t.Helper()
	var config struct {
		Env                   []string
		User, WorkingDir      string
		Volumes, ExposedPorts map[string]struct{}
		Entrypoint, Cmd       []string
		Healthcheck           map[string]any
		Labels                map[string]string
	}
	if err := json.Unmarshal([]byte(docker(t, "inspect", "--type", "image", "--format", "{{json .Config}}", image)), &config); err != nil {
		t.Fatal(err)
	}
	return contract{
		Env: config.Env, User: config.User, WorkingDir: config.WorkingDir, Healthcheck: config.Healthcheck, Labels: config.Labels,
		Volumes: slices.Sorted(maps.Keys(config.Volumes)), ExposedPorts: slices.Sorted(maps.Keys(config.ExposedPorts)),
		Entrypoint: config.Entrypoint, Cmd: append([]string{}, config.Cmd...),
	}
}

func TestTheImageIsAsTheTableSays(t *testing.T) {
	t.Parallel()
	for _, image := range targets(t) {
		got, want := inspected(t, image), table(t)
		for name, value := range want.Labels {
			if value == "*" && got.Labels[name] != "" {
				want.Labels[name] = got.Labels[name]
			}
		}
		want.Tools = nil
		g, w := reflect.ValueOf(got), reflect.ValueOf(want)
		for i := range w.NumField() {
			if have, must := g.Field(i).Interface(), w.Field(i).Interface(); !reflect.DeepEqual(have, must) {
				t.Errorf("%s: %s is\n%v, must be\n%v", image, w.Type().Field(i).Name, have, must)
			}
		}
	}
}

func TestB14TheEntrypointIsNotTini(t *testing.T) {
	t.Parallel()
	for _, image := range targets(t) {
		if words := inspected(t, image).Entrypoint; !slices.Equal(words, []string{"/init"}) {
			t.Errorf("%s: the entrypoint is %q", image, words)
		}
	}
}
