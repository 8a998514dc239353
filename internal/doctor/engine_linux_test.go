package doctor

import (
	"errors"
	"testing"

	"hermes.example/hermes/internal/config"
	"hermes.example/hermes/sandbox/engine/native"
)

func TestWhichEngineAndWhy(t *testing.T) {
	inside := map[string]string{"/.dockerenv": ""}
	for _, c := range []struct {
		engine     string
		files      map[string]string
		severity   Severity
		found, fix string
	}{
		{config.DefaultEngine, nil, OK, "native", ""},
		{config.ImageEngine, inside, OK, "the container is the boundary", ""},
		{config.ImageEngine, nil, Note, "not kept from the files of this machine", "hermes config set terminal.backend native"},
		{"docker", nil, OK, "docker: chosen by the configuration", ""},
	} {
		m := fake(t, c.files, nil)
		m.config.Engine = c.engine
		expect(t, engines(t.Context(), m)[0], c.severity, c.found, c.fix)
	}
}

// The limits of a container are set when it is made, and those of its local sandboxes with them.
func TestLimitsOfAContainerAreItsOwn(t *testing.T) {
	m := fake(t, map[string]string{"/.dockerenv": ""}, nil)
	m.config.Engine = config.ImageEngine
	if got := m.mendLimits(""); got != "docker run --memory 4g --cpus 2 --pids-limit 1024 … # when the container is made" {
		t.Error(got)
	}
}

func TestNoContainerIsStartedForATrial(t *testing.T) {
	m := fake(t, nil, nil)
	m.config.Engine = "docker"
	expect(t, realSandbox(t.Context(), m)[0], OK, "not tried", "")
}

// What keeps the native engine from working is bad only for who uses it.
func TestOnlyTheChosenEngineCanBeBad(t *testing.T) {
	const options = "docker run --security-opt seccomp=unconfined --security-opt apparmor=unconfined --security-opt systempaths=unconfined … # when the container is made"
	refused := facts{Trial: native.Trial{Start: errors.New("user namespaces are refused")}}
	for engine, want := range map[string]struct {
		severity Severity
		found    string
	}{
		config.DefaultEngine: {Bad, "user namespaces are refused"},
		config.ImageEngine:   {Note, "no native sandboxes: user namespaces are refused"},
	} {
		m := fake(t, map[string]string{"/.dockerenv": ""}, nil)
		m.config.Engine = engine
		expect(t, m.unlessChosen(m.judge(refused))[0], want.severity, want.found, options)
	}
}
