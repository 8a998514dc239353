package config

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

const openIDFile = `dashboard:
  public_url: https://me.example
  oauth:
    client_id: of-the-portal
    portal_url: https://portal.example
    allow: 'a@here.example, group:admins'
    self_hosted:
      issuer: https://i.example
      client_id: of-the-file
      client_secret: secret-of-the-file
      scopes: [openid, groups]
      allow: [me@here.example, 'sub:17']
`

func TestIssuersAreReadFromTheFileAndFromVariables(t *testing.T) {
	secret := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(secret, []byte("secret-of-a-file\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	usual := []string{"openid", "profile", "email"}
	portal := OpenID{Issuer: "https://portal.example", ClientID: "of-the-portal", Scopes: usual, Allow: []string{"a@here.example", "group:admins"}}
	own := OpenID{Issuer: "https://i.example", ClientID: "of-the-file", ClientSecret: NewSecret("secret-of-the-file"), Scopes: []string{"openid", "groups"}, Allow: []string{"me@here.example", "sub:17"}}
	with := func(o OpenID, change func(*OpenID)) OpenID { change(&o); return o }
	none := OpenID{Scopes: usual}
	for name, test := range map[string]struct {
		file       string
		vars       map[string]string
		nous, oidc OpenID
	}{
		"nothing":  {"", nil, none, none},
		"the file": {openIDFile, nil, portal, own},
		"variables": {"", map[string]string{"HERMES_DASHBOARD_OIDC_ISSUER": " https://v.example ", "HERMES_DASHBOARD_OIDC_CLIENT_ID": "v", "HERMES_DASHBOARD_OIDC_CLIENT_SECRET": "s",
			"HERMES_DASHBOARD_OIDC_SCOPES": "openid  email", "HERMES_DASHBOARD_OIDC_ALLOW": "a@b.example,,  * ,"},
			none, OpenID{Issuer: "https://v.example", ClientID: "v", ClientSecret: NewSecret("s"), Scopes: []string{"openid", "email"}, Allow: []string{"a@b.example", "*"}}},
		"the portal's variables": {"", map[string]string{"HERMES_DASHBOARD_OAUTH_CLIENT_ID": "p", "HERMES_DASHBOARD_PORTAL_URL": "https://p.example", "HERMES_DASHBOARD_OAUTH_ALLOW": "sub:1"},
			OpenID{Issuer: "https://p.example", ClientID: "p", Scopes: usual, Allow: []string{"sub:1"}}, none},
		"variables win, each for itself": {openIDFile, map[string]string{"HERMES_DASHBOARD_OIDC_CLIENT_ID": "v", "HERMES_DASHBOARD_OIDC_ALLOW": "sub:1", "HERMES_DASHBOARD_PORTAL_URL": "https://p.example"},
			with(portal, func(o *OpenID) { o.Issuer = "https://p.example" }), with(own, func(o *OpenID) { o.ClientID, o.Allow = "v", []string{"sub:1"} })},
		"empty ones do not": {openIDFile, map[string]string{"HERMES_DASHBOARD_OIDC_CLIENT_ID": " ", "HERMES_DASHBOARD_OIDC_ALLOW": "", "HERMES_DASHBOARD_OIDC_SCOPES": "", "HERMES_DASHBOARD_PORTAL_URL": ""},
			portal, own},
		"a secret in a file of its own": {openIDFile, map[string]string{"HERMES_DASHBOARD_OIDC_CLIENT_SECRET_FILE": secret},
			portal, with(own, func(o *OpenID) { o.ClientSecret = NewSecret("secret-of-a-file") })},
		"a secret beats that file": {openIDFile, map[string]string{"HERMES_DASHBOARD_OIDC_CLIENT_SECRET_FILE": secret, "HERMES_DASHBOARD_OIDC_CLIENT_SECRET": "s"},
			portal, with(own, func(o *OpenID) { o.ClientSecret = NewSecret("s") })},
		"the portal's secret is not the other's": {"", map[string]string{"HERMES_DASHBOARD_OAUTH_CLIENT_SECRET_FILE": secret},
			with(none, func(o *OpenID) { o.ClientSecret = NewSecret("secret-of-a-file") }), none},
		"scopes in one text":        {"dashboard: {oauth: {self_hosted: {scopes: 'openid, a b'}}}", nil, none, with(none, func(o *OpenID) { o.Scopes = []string{"openid", "a", "b"} })},
		"a number as a name":        {"dashboard: {oauth: {client_id: 17}}", nil, with(none, func(o *OpenID) { o.ClientID = "17" }), none},
		"sections that are none":    {"dashboard: {oauth: [1, 2]}", nil, none, none},
		"an issuer's that is none":  {"dashboard: {oauth: {client_id: id, self_hosted: x}}", nil, with(none, func(o *OpenID) { o.ClientID = "id" }), none},
		"lists that allow nobody":   {"dashboard: {oauth: {self_hosted: {allow: [], scopes: []}}}", nil, none, none},
		"a list that allows no one": {"dashboard: {oauth: {self_hosted: {allow: ['', ' ']}}}", nil, none, none},
	} {
		got, err := loaded(t, test.file, test.vars).Dashboard()
		if err != nil || !reflect.DeepEqual(got.Nous, test.nous) || !reflect.DeepEqual(got.OIDC, test.oidc) {
			t.Errorf("%s: %v\n%+v\n%+v", name, err, got.Nous, got.OIDC)
		}
	}
}

// A secret that was meant and cannot be had is an error, which names the variable and the file and nothing that is in it.
func TestAnIssuersSecretThatCannotBeRead(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	for name, test := range map[string]struct{ path, says string }{
		"nothing there":      {filepath.Join(dir, "none"), "no such file"},
		"a directory":        {dir, "it is not a file"},
		"an empty file":      {write("empty", " \n"), "it is empty"},
		"far too long a one": {write("long", strings.Repeat("hunter2", 10000)), "more than"},
	} {
		for _, variable := range []string{"HERMES_DASHBOARD_OIDC_CLIENT_SECRET_FILE", "HERMES_DASHBOARD_OAUTH_CLIENT_SECRET_FILE"} {
			_, err := loaded(t, openIDFile, map[string]string{variable: test.path}).Dashboard()
			if err == nil || !strings.Contains(err.Error(), variable) || !strings.Contains(err.Error(), test.path) || !strings.Contains(err.Error(), test.says) {
				t.Errorf("%s, %s: %v", name, variable, err)
			}
			if err != nil && (strings.Contains(err.Error(), "hunter2") || strings.Contains(err.Error(), "\n")) {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
}

func TestAnIssuersSecretIsNotShown(t *testing.T) {
	d, err := loaded(t, openIDFile, nil).Dashboard()
	if err != nil {
		t.Fatal(err)
	}
	asJSON, _ := json.Marshal(d)
	if text := fmt.Sprintf("%v %+v %#v %s", d, d, d.OIDC, asJSON); strings.Contains(text, "secret-of-the-file") || !strings.Contains(text, "https://i.example") {
		t.Error(text)
	}
}
