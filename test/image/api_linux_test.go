package image

import (
	"bytes"
	"errors"
	"net/http"
	"strings"
	"testing"

	"hermes.example/hermes/client"
)

// The API of a gateway in the container, through the port that it publishes, from the host.
func TestTheAPIAnswersFromOutside(t *testing.T) {
	const key = "0123456789abcdef-outside"
	c := dockerd(t).idle(opts("-p 127.0.0.1::8642 -e API_SERVER_KEY=" + key)...)
	says(t, c.hermes("gateway", "start"), "up (pid ")
	c.serves("gateway-default")
	base := "http://" + c.must("port", c.name, "8642/tcp")
	api, err := client.New(base, key, client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	task := api.Task("outside")
	result, err := task.Exec(t.Context(), client.Exec{Line: "id -un; echo x >made; exit 3"}, client.ExecOptions{Stdout: &out})
	if err != nil || result.Code != 3 || out.String() != "hermes\n" {
		t.Errorf("%q, %+v, %v", out.String(), result, err)
	}
	if content, err := task.Files().ReadFile(t.Context(), "made", 10); err != nil || string(content) != "x\n" {
		t.Errorf("%q, %v", content, err)
	}
	// It is the sandbox that the command line in the container knows.
	if r := c.exec(service, "hermes", "sandbox", "ls"); r.code != 0 || !strings.Contains(r.stdout, "outside") {
		t.Error(r)
	}
	for _, wrong := range []string{"", key + "0"} {
		stranger, err := client.New(base, wrong, client.Options{})
		if err != nil {
			t.Fatal(err)
		}
		var refused *client.Error
		if _, err := stranger.Task("outside").Exec(t.Context(), client.Exec{Line: "echo x >stranger"}, client.ExecOptions{}); !errors.As(err, &refused) || refused.Status != http.StatusUnauthorized {
			t.Errorf("with the key %q: %v", wrong, err)
		}
	}
}
