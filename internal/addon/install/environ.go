package install

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"hermes.example/hermes/internal/config"
)

// passed are the variables that reach an installer as they are. It is a list of what may and not of what may not:
// nobody can name all the variables that hold a secret.
var passed = []string{
	"PATH", "HOME", "USER", "LOGNAME", "LANG", "LC_ALL", "LC_CTYPE", "TZ",
	// Where a host's own settings of TLS, proxies and logins for an index are.
	"XDG_CONFIG_HOME", "XDG_CONFIG_DIRS", "XDG_DATA_HOME", "NETRC",
	"SSL_CERT_FILE", "SSL_CERT_DIR", "SSL_CLIENT_CERT", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE",
	"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "all_proxy", "no_proxy",
}

// passedToUV are those of uv that say where packages come from and how to get there.
var passedToUV = []string{
	"UV_INDEX_STRATEGY", "UV_KEYRING_PROVIDER", "UV_INSECURE_HOST", "UV_NATIVE_TLS", "UV_SYSTEM_CERTS", "UV_CREDENTIALS_DIR",
	"UV_HTTP_TIMEOUT", "UV_HTTP_CONNECT_TIMEOUT", "UV_REQUEST_TIMEOUT", "UV_HTTP_RETRIES", "UV_CONCURRENT_DOWNLOADS",
}

// uvIndexes are those by which uv is told of an index. One of them is enough for all of pip's to be ignored.
var uvIndexes = []string{"UV_DEFAULT_INDEX", "UV_INDEX_URL", "UV_INDEX", "UV_EXTRA_INDEX_URL", "UV_FIND_LINKS"}

// environment is what an installer is started with.
type environment map[string]string

func (e environment) list() []string {
	all := make([]string, 0, len(e))
	for _, name := range slices.Sorted(maps.Keys(e)) {
		all = append(all, name+"="+e[name])
	}
	return all
}

// unless sets a variable that nobody has set.
func (e environment) unless(name, value string, or ...string) {
	if value == "" || slices.ContainsFunc(append(or, name), func(n string) bool { return e[n] != "" }) {
		return
	}
	e[name] = value
}

// base is what every child gets. No PYTHON* of the caller's is in it, and none of the sealed interpreter's own files
// may change because it was started.
func (i Installer) base(scratch string) environment {
	env := environment{
		"TMPDIR":                  scratch,
		"PYTHONDONTWRITEBYTECODE": "1",
		"PYTHONNOUSERSITE":        "1",
		"NO_COLOR":                "1",
		// The sealed interpreter is started without add-ons: an installer imports none of what it installed before.
		config.LazyInstallTarget: os.DevNull,
	}
	for _, name := range passed {
		if value := i.getenv(name); value != "" {
			env[name] = value
		}
	}
	return env
}

// forUV is uv's environment, and whether it may ask an index at all.
func (i Installer) forUV(scratch string) (env environment, index bool, err error) {
	pip, err := i.pipSettings()
	if err != nil {
		return nil, false, err
	}
	env, index = i.base(scratch), true
	env["UV_CACHE_DIR"] = i.uvCache()
	env["UV_PYTHON_DOWNLOADS"] = "never"
	env["UV_NO_PROGRESS"] = "1"
	env["UV_NO_INSTALLER_METADATA"] = "1" // its notes on who installed what and why are no part of a package
	own := false
	for _, entry := range i.Environ {
		name, value, _ := strings.Cut(entry, "=")
		switch {
		case slices.Contains(uvIndexes, name):
			own = own || value != ""
		case slices.Contains(passedToUV, name), isIndexLogin(name):
		default:
			continue
		}
		env[name] = value
	}
	if !own {
		env.unless("UV_DEFAULT_INDEX", pip["index-url"])
		env.unless("UV_INDEX", words(pip["extra-index-url"]))
		env.unless("UV_FIND_LINKS", strings.Join(strings.Fields(pip["find-links"]), ","))
		index = !isTrue(pip["no-index"])
	}
	env.unless("UV_INSECURE_HOST", words(pip["trusted-host"]))
	env.unless("UV_HTTP_TIMEOUT", orElse(pip["timeout"], pip["default-timeout"]), "UV_REQUEST_TIMEOUT")
	env.unless("UV_HTTP_RETRIES", pip["retries"])
	env.unless("SSL_CERT_FILE", orElse(pip["cert"], env["REQUESTS_CA_BUNDLE"]))
	env.unless("SSL_CLIENT_CERT", pip["client-cert"])
	env.unless("HTTPS_PROXY", pip["proxy"], "https_proxy", "ALL_PROXY", "all_proxy")
	env.unless("HTTP_PROXY", pip["proxy"], "http_proxy", "ALL_PROXY", "all_proxy")
	return env, index, nil
}

// forPip is pip's environment. Its files are read here and not by it, so that only what is honoured reaches it, and it
// is told of uv's indexes where nobody has set one for pip.
func (i Installer) forPip(scratch string) (environment, error) {
	pip, err := i.pipSettings()
	if err != nil {
		return nil, err
	}
	if pip["index-url"]+pip["extra-index-url"]+pip["find-links"]+pip["no-index"] == "" {
		pip["index-url"] = address(orElse(i.getenv("UV_DEFAULT_INDEX"), i.getenv("UV_INDEX_URL")))
		var extra []string
		for _, entry := range strings.Fields(i.getenv("UV_INDEX") + " " + i.getenv("UV_EXTRA_INDEX_URL")) {
			extra = append(extra, address(entry))
		}
		pip["extra-index-url"] = strings.Join(extra, " ")
		pip["find-links"] = strings.ReplaceAll(i.getenv("UV_FIND_LINKS"), ",", " ")
	}
	env := i.base(scratch)
	for name, value := range pip {
		if value != "" {
			env["PIP_"+strings.ToUpper(strings.ReplaceAll(name, "-", "_"))] = value
		}
	}
	env["PIP_CONFIG_FILE"] = os.DevNull
	env["PIP_CACHE_DIR"] = filepath.Join(i.Cache, "pip")
	env["PIP_NO_INPUT"] = "1"
	env["PIP_DISABLE_PIP_VERSION_CHECK"] = "1"
	env["PIP_ROOT_USER_ACTION"] = "ignore"
	return env, nil
}

// isIndexLogin tells the variables in which uv looks for the login of an index that has a name.
func isIndexLogin(name string) bool {
	return strings.HasPrefix(name, "UV_INDEX_") && (strings.HasSuffix(name, "_USERNAME") || strings.HasSuffix(name, "_PASSWORD"))
}

// address is that of an index, to which uv lets one give a name.
func address(index string) string {
	if name, rest, ok := strings.Cut(index, "="); ok && !strings.ContainsAny(name, ":/") {
		return rest
	}
	return index
}

// words are a list that was written over several lines.
func words(list string) string { return strings.Join(strings.Fields(list), " ") }

// isTrue is how pip reads a switch.
func isTrue(value string) bool {
	return slices.Contains([]string{"y", "yes", "t", "true", "on", "1"}, strings.ToLower(strings.TrimSpace(value)))
}

// getenv looks a variable up in the caller's environment.
func (i Installer) getenv(name string) string {
	value := ""
	for _, entry := range i.Environ {
		if n, v, ok := strings.Cut(entry, "="); ok && n == name {
			value = v
		}
	}
	return value
}

func (i Installer) uvCache() string { return filepath.Join(i.Cache, "uv") }

func (i Installer) wheels() string { return filepath.Join(i.Cache, "wheels") }
