package config

import (
	"slices"
	"strings"
)

// OpenID is an issuer at which people have accounts, and which of them may come in.
type OpenID struct {
	// Issuer is its address, and ClientID by what it knows this dashboard (…ISSUER, issuer; …CLIENT_ID, client_id). The
	// portal's address has a name of its own (HERMES_DASHBOARD_PORTAL_URL, portal_url).
	Issuer, ClientID string
	// ClientSecret is what it wants to be shown for that, if anything (…CLIENT_SECRET, client_secret; …CLIENT_SECRET_FILE).
	ClientSecret Secret
	// Scopes are what it is asked for (…SCOPES, scopes).
	Scopes []string
	// Allow is who may come in: e-mail addresses, sub:SUBJECT, group:NAME, or * for every account that there is (…ALLOW,
	// allow). Without any nobody may: an account is something that anybody may have.
	Allow []string
}

// openID reads an issuer, by how its variables begin and where it stands in the file.
func (s doorSettings) openID(variable string, section ...string) (OpenID, error) {
	key := func(name string) setting {
		return s.either(variable+strings.ToUpper(name), append(slices.Clone(section), name)...)
	}
	o := OpenID{
		Issuer: key("issuer").orEmpty(), ClientID: key("client_id").orEmpty(), ClientSecret: NewSecret(key("client_secret").orEmpty()),
		Scopes: []string{"openid", "profile", "email"}, Allow: key("allow").words(),
	}
	if scopes := key("scopes").words(); len(scopes) > 0 {
		o.Scopes = strings.Fields(strings.Join(scopes, " "))
	}
	if file := s.either(variable + "CLIENT_SECRET_FILE"); file.value != nil && get(s.lookup, variable+"CLIENT_SECRET") == "" {
		var err error
		if o.ClientSecret, err = readSecret(file); err != nil {
			return OpenID{}, err
		}
	}
	return o, nil
}
