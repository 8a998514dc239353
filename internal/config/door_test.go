package config

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"
)

func loaded(t *testing.T, file string, vars map[string]string) Config {
	t.Helper()
	c, err := Load(inHome(t, file, vars))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

const gatewayFile = "platforms:\n  api_server:\n    enabled: true\n    extra: {host: 10.0.0.1, port: 7000, key: of-the-file}\n"

func TestGatewaySettings(t *testing.T) {
	for name, test := range map[string]struct {
		file string
		vars map[string]string
		want Gateway
	}{
		"defaults":      {"", nil, Gateway{"127.0.0.1", 8642, Secret{}, nil, nil, 1000, 1024}},
		"file":          {gatewayFile, nil, Gateway{"10.0.0.1", 7000, NewSecret("of-the-file"), nil, nil, 1000, 1024}},
		"variables win": {gatewayFile, map[string]string{"API_SERVER_HOST": "::1", "API_SERVER_PORT": "0", "API_SERVER_KEY": " k "}, Gateway{"::1", 0, NewSecret("k"), nil, nil, 1000, 1024}},
		"what it goes by": {"platforms: {api_server: {extra: {hosts: [agent.example, 10.0.0.9], origins: 'https://a.example', rate: 5, concurrency: 7}}}", nil,
			Gateway{"127.0.0.1", 8642, Secret{}, []string{"agent.example", "10.0.0.9"}, []string{"https://a.example"}, 5, 7}},
		"the same by variables": {"platforms: {api_server: {extra: {hosts: [agent.example], rate: 5}}}",
			map[string]string{"API_SERVER_HOSTS": " a, b,", "API_SERVER_ORIGINS": "http://x:1,http://y", "API_SERVER_RATE": "9", "API_SERVER_CONCURRENCY": "3"},
			Gateway{"127.0.0.1", 8642, Secret{}, []string{"a", "b"}, []string{"http://x:1", "http://y"}, 9, 3}},
		"empty ones do not": {gatewayFile, map[string]string{"API_SERVER_HOST": "", "API_SERVER_PORT": " ", "API_SERVER_KEY": ""},
			Gateway{"10.0.0.1", 7000, NewSecret("of-the-file"), nil, nil, 1000, 1024}},
	} {
		if got, err := loaded(t, test.file, test.vars).Gateway(); err != nil || !reflect.DeepEqual(got, test.want) {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
	for variable, value := range map[string]string{"API_SERVER_ORIGINS": "agent.example", "API_SERVER_RATE": "0", "API_SERVER_CONCURRENCY": "-1"} {
		if _, err := loaded(t, "", map[string]string{variable: value}).Gateway(); err == nil || !strings.Contains(err.Error(), variable) {
			t.Errorf("%s=%s: %v", variable, value, err)
		}
	}
	for _, port := range []string{"65536", "-1", "http", "1.5"} {
		if _, err := loaded(t, "", map[string]string{"API_SERVER_PORT": port}).Gateway(); err == nil || !strings.Contains(err.Error(), "API_SERVER_PORT") {
			t.Errorf("port %q: %v", port, err)
		}
	}
}

// In our image the port that is published must lead somewhere.
func TestTheImageIsKnownByItsMark(t *testing.T) {
	mark := filepath.Join(t.TempDir(), "mark")
	if inImage(mark) {
		t.Error("without a mark")
	}
	for content, want := range map[string]bool{"docker\n": true, "pip": false} {
		if err := os.WriteFile(mark, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		if inImage(mark) != want {
			t.Errorf("%q", content)
		}
	}
}

func TestMultiplexingByFileAndVariable(t *testing.T) {
	for name, test := range map[string]struct {
		file, variable string
		want           bool
	}{
		"default":              {"", "", false},
		"file":                 {"gateway:\n  multiplex_profiles: true\n", "", true},
		"file, at the top":     {"multiplex_profiles: on\n", "", true},
		"variable against it":  {"gateway:\n  multiplex_profiles: true\n", "false", false},
		"variable alone":       {"", "1", true},
		"variable that is odd": {"gateway:\n  multiplex_profiles: true\n", "on", false},
	} {
		got, err := MultiplexProfiles(inHome(t, test.file, map[string]string{"GATEWAY_MULTIPLEX_PROFILES": test.variable}))
		if err != nil || got != test.want {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
	if on, err := MultiplexProfiles(inHome(t, "gateway:\n  multiplex_profiles: banana\n", nil)); on || err == nil {
		t.Errorf("a fruit: %v, %v", on, err)
	}
	// A file that nobody understands leaves it to the variable.
	for variable, want := range map[string]bool{"true": true, "": false} {
		on, err := MultiplexProfiles(inHome(t, "gateway: [\n", map[string]string{"GATEWAY_MULTIPLEX_PROFILES": variable}))
		if on != want || err == nil {
			t.Errorf("%q and a broken file: %v, %v", variable, on, err)
		}
	}
}

const basicVariable = "HERMES_DASHBOARD_BASIC_AUTH_"

func TestWhichPasswordCounts(t *testing.T) {
	file := "dashboard:\n  basic_auth:\n    username: file\n    password: file-pw\n    password_hash: file-hash\n    secret: file-secret\n    session_ttl_seconds: 90\n"
	plain := "dashboard:\n  basic_auth: {username: file, password: file-pw}\n"
	for name, test := range map[string]struct {
		file string
		vars map[string]string
		want BasicAuth
	}{
		"nothing":                    {"", nil, BasicAuth{TTL: 12 * time.Hour}},
		"a hash of the file":         {file, nil, BasicAuth{Username: "file", PasswordHash: NewSecret("file-hash"), Secret: NewSecret("file-secret"), TTL: 90 * time.Second}},
		"a password of the file":     {plain, nil, BasicAuth{Username: "file", Password: NewSecret("file-pw"), TTL: 12 * time.Hour}},
		"a hash of the environment":  {plain, map[string]string{basicVariable + "PASSWORD_HASH": "h"}, BasicAuth{Username: "file", PasswordHash: NewSecret("h"), TTL: 12 * time.Hour}},
		"a password of the same":     {file, map[string]string{basicVariable + "PASSWORD": " pw ", basicVariable + "PASSWORD_HASH": "h", basicVariable + "TTL_SECONDS": "5"}, BasicAuth{Username: "file", Password: NewSecret("pw"), Secret: NewSecret("file-secret"), TTL: time.Minute}},
		"empty variables are no one": {file, map[string]string{basicVariable + "PASSWORD": " ", basicVariable + "USERNAME": ""}, BasicAuth{Username: "file", PasswordHash: NewSecret("file-hash"), Secret: NewSecret("file-secret"), TTL: 90 * time.Second}},
	} {
		if got, err := loaded(t, test.file, test.vars).Dashboard(); err != nil || got.Basic != test.want {
			t.Errorf("%s: %v: %q %q %q %q %v", name, err, got.Basic.Username, got.Basic.Password.Reveal(), got.Basic.PasswordHash.Reveal(), got.Basic.Secret.Reveal(), got.Basic.TTL)
		}
	}
	if _, err := loaded(t, "", map[string]string{basicVariable + "TTL_SECONDS": "soon"}).Dashboard(); err == nil {
		t.Error("a time that is none was taken")
	}
}

func TestNotEverybodyCanBeATrustedProxy(t *testing.T) {
	file := "dashboard:\n  public_url: https://hermes.example\n  trusted_proxies: [10.0.0.5, 192.168.0.0/16, '::1', 'fd00::/8', '*', 0.0.0.0/0, '::/0', 10.0.0.0/7, proxy.example]\n"
	d, err := loaded(t, file, nil).Dashboard()
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, p := range d.TrustedProxies {
		got = append(got, p.String())
	}
	if strings.Join(got, " ") != "10.0.0.5/32 192.168.0.0/16 ::1/128" {
		t.Errorf("trusted: %v", got)
	}
	if len(d.Ignored) != 6 || d.PublicURL != "https://hermes.example" {
		t.Errorf("ignored: %q", d.Ignored)
	}
}

func TestHowPeopleReachTheDashboardIsASite(t *testing.T) {
	for given, test := range map[string]struct {
		want  string
		whole bool
	}{
		"https://hermes.example":       {"https://hermes.example", true},
		"https://hermes.example/":      {"https://hermes.example", true},
		"HTTP://localhost:9119":        {"http://localhost:9119", true},
		"https://[fd00::1]:8443":       {"https://[fd00::1]:8443", true},
		"https://hermes.example/home":  {"https://hermes.example", false},
		"https://hermes.example?x=1":   {"https://hermes.example", false},
		"https://me:pw@hermes.example": {"https://hermes.example", false},
		"hermes.example":               {"", false},
		"hermes.example:9119":          {"", false},
		"ftp://hermes.example":         {"", false},
		"https://":                     {"", false},
		"https://%zz":                  {"", false},
	} {
		d, err := loaded(t, "", map[string]string{"HERMES_DASHBOARD_PUBLIC_URL": given}).Dashboard()
		if err != nil || d.PublicURL != test.want || (len(d.Ignored) == 0) != test.whole {
			t.Errorf("%s: %q, %q, %v", given, d.PublicURL, d.Ignored, err)
		}
		if strings.Contains(strings.Join(d.Ignored, ""), "pw") {
			t.Errorf("%s: it shows the password: %q", given, d.Ignored)
		}
		if d, err := loaded(t, "dashboard: {public_url: '"+given+"'}\n", nil).Dashboard(); err != nil || d.PublicURL != test.want {
			t.Errorf("%s in the file: %q, %v", given, d.PublicURL, err)
		}
	}
}

func TestAPasswordFromAFile(t *testing.T) {
	dir := t.TempDir()
	file := func(content string) string {
		path := filepath.Join(dir, "secret")
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	for name, test := range map[string]struct{ content, variable, want string }{
		"a line":                {"of the file\n", "", "of the file"},
		"without one":           {"of the file", "", "of the file"},
		"the password itself":   {"of the file\n", "of the variable", "of the variable"},
		"a file from elsewhere": {"\r\n of the file\r\n", "", "of the file"},
	} {
		vars := map[string]string{basicVariable + "PASSWORD_FILE": file(test.content), basicVariable + "PASSWORD": test.variable, basicVariable + "PASSWORD_HASH": "hash"}
		if got, err := loaded(t, "", vars).Dashboard(); err != nil || got.Basic.Password.Reveal() != test.want || got.Basic.PasswordHash.Reveal() != "" {
			t.Errorf("%s: %q, %q, %v", name, got.Basic.Password.Reveal(), got.Basic.PasswordHash.Reveal(), err)
		}
	}
	for says, path := range map[string]string{
		"no such file":     filepath.Join(dir, "absent"),
		"it is not a file": dir,
	} {
		_, err := loaded(t, "", map[string]string{basicVariable + "PASSWORD_FILE": path}).Dashboard()
		if err == nil || !strings.Contains(err.Error(), says) || !strings.Contains(err.Error(), basicVariable+"PASSWORD_FILE") {
			t.Errorf("%s: %v", path, err)
		}
	}
	for says, content := range map[string]string{"is empty": " \n", "more than 4096 bytes": strings.Repeat("x", longestSecret+1)} {
		_, err := loaded(t, "", map[string]string{basicVariable + "PASSWORD_FILE": file(content)}).Dashboard()
		if err == nil || !strings.Contains(err.Error(), says) || strings.Contains(err.Error(), "xx") {
			t.Errorf("%s: %v", says, err)
		}
	}
}
