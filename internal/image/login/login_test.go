package login_test

import (
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hermes.example/hermes/internal/image/login"
)

// stored makes the file of the usual login the test's own.
func stored(t *testing.T, config string) {
	t.Helper()
	dir := t.TempDir()
	t.Setenv("DOCKER_CONFIG", dir)
	t.Setenv("HOME", dir)
	t.Setenv("REGISTRY_AUTH_FILE", "")
	t.Setenv("XDG_RUNTIME_DIR", dir)
	if err := os.WriteFile(filepath.Join(dir, "config.json"), []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestTheLoginOfARegistry(t *testing.T) {
	stored(t, fmt.Sprintf(`{"auths": {"registry.example": {"auth": %q}, "token.example": {"identitytoken": "t0ken"}}}`,
		base64.StdEncoding.EncodeToString([]byte("ann:s3cret"))))
	for image, want := range map[string]login.Login{
		"registry.example/team/app:1": {Registry: "registry.example", Username: "ann", Password: "s3cret"},
		"token.example/app":           {Registry: "token.example", IdentityToken: "t0ken"},
		"other.example/app":           {Registry: "other.example"},
	} {
		got, err := login.For(image)
		if err != nil || got != want {
			t.Errorf("%s: the login is not the one that was stored: %v, %v", image, got, err)
		}
		if got.IsNobody() != (image == "other.example/app") {
			t.Errorf("%s: somebody is %t", image, !got.IsNobody())
		}
		if text := fmt.Sprintf("%v %+v %s", got, got, got); strings.Contains(text, "s3cret") || strings.Contains(text, "t0ken") {
			t.Errorf("it shows itself: %s", text)
		}
	}
}

func TestALoginThatCannotBeReadSaysNothingOfItself(t *testing.T) {
	stored(t, `{"auths": {"registry.example": {"auth": "s3cret, which is not base64"}}}`)
	if _, err := login.For("registry.example/app"); err == nil || strings.Contains(err.Error(), "s3cret") || !strings.Contains(err.Error(), "registry.example") {
		t.Errorf("the error is %v", err)
	}
	if _, err := login.For("Not A Name"); err == nil {
		t.Error("a name that is none is taken")
	}
}
