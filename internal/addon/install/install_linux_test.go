package install

import (
	"reflect"
	"testing"

	"hermes.example/hermes/internal/addon/sealed"
	"hermes.example/hermes/test/wheels"
)

func TestExactlyTheListIsInstalled(t *testing.T) {
	tools(t, func(t *testing.T, r *sealed.Runtime) {
		x := wheels.Serve(t, sample()...)
		into := target(t)
		if err := install(t, installer(t, r, x.URL), locked(sample()...), into); err != nil {
			t.Fatal(err)
		}
		if got := installed(t, into); !reflect.DeepEqual(got, []string{"alpha", "beta.py"}) {
			t.Errorf("there is %v", got)
		}
	})
}
