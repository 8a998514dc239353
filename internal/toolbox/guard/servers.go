package guard

import (
	"slices"
	"strings"
)

// servers are programs that serve until they are ended: always if they have no words, otherwise with one of these as
// their first word that is no option.
var servers = map[string][]string{
	"uvicorn": nil, "gunicorn": nil, "hypercorn": nil, "daphne": nil, "waitress-serve": nil, "granian": nil,
	"http-server": nil, "live-server": nil, "webpack-dev-server": nil, "nodemon": nil, "browser-sync": nil, "json-server": nil,
	"redis-server": nil, "mongod": nil, "mysqld": nil, "postgres": nil, "memcached": nil, "ngrok": nil,
	"flask": {"run"}, "fastapi": {"dev", "run"}, "streamlit": {"run"}, "jupyter": {"notebook", "lab", "server"}, "jupyter-lab": nil, "jupyter-notebook": nil,
	"mkdocs": {"serve"}, "jekyll": {"serve", "s"}, "hugo": {"server", "serve"}, "rails": {"server", "s"}, "caddy": {"run"},
	"vite": {"", "dev", "serve", "preview"}, "next": {"", "dev", "start"}, "nuxt": {"dev", "start", "preview"}, "astro": {"dev", "preview"}, "ng": {"serve"},
	"gatsby": {"develop", "serve"}, "remix": {"dev"}, "expo": {"start"}, "vue-cli-service": {"serve"}, "react-scripts": {"start"}, "webpack": {"serve"},
	"storybook": {"dev"}, "mix": {"phx.server"}, "vllm": {"serve"}, "ollama": {"serve"},
}

// modules are servers that Python runs with -m.
var modules = []string{"http.server", "SimpleHTTPServer", "uvicorn", "gunicorn", "hypercorn", "flask", "fastapi", "streamlit", "jupyter", "mkdocs"}

// scripts are what people call those scripts of a package that serve.
var scripts = []string{"dev", "start", "serve", "preview", "watch", "develop"}

// server says what of a command is a server, or nothing.
func server(words []string) string {
	name, args := base(words[0]), words[1:]
	switch {
	case name == "npx" || name == "bunx" || name == "pnpx" || name == "uvx" || name == "pipx" && len(args) > 0 && args[0] == "run":
		return behind(slices.DeleteFunc(slices.Clone(args), func(w string) bool { return strings.HasPrefix(w, "-") || w == "run" && name == "pipx" }))
	case (name == "uv" || name == "poetry" || name == "pipenv" || name == "bundle" || name == "pdm" || name == "hatch") && len(args) > 1 && (args[0] == "run" || args[0] == "exec"):
		return behind(passOptions(args[1:], ""))
	case name == "npm" || name == "pnpm" || name == "yarn" || name == "bun":
		return packageScript(name, args)
	case strings.HasPrefix(name, "python") || name == "pypy3":
		return python(name, args)
	case name == "php" && slices.ContainsFunc(args, func(w string) bool { return w == "-S" }):
		return "php -S"
	case name == "ruby" && slices.Contains(args, "-run") && slices.Contains(args, "httpd"):
		return "ruby -run -e httpd"
	case name == "docker-compose":
		return compose("docker-compose", args)
	case (name == "docker" || name == "podman") && len(args) > 0 && args[0] == "compose":
		return compose(name+" compose", args[1:])
	}
	verbs, known := servers[name]
	if !known || leavesAtOnce(args) {
		return ""
	}
	if verbs == nil {
		return name
	}
	if verb := firstWord(args); slices.Contains(verbs, verb) {
		return strings.TrimSpace(name + " " + verb)
	}
	return ""
}

// behind judges what another program runs.
func behind(words []string) string {
	if len(words) == 0 {
		return ""
	}
	words = slices.Clone(words)
	words[0], _, _ = strings.Cut(words[0], "@") // a version
	if words[0] == "" {
		return ""
	}
	return server(words)
}

// packageScript judges the script of a package.
func packageScript(name string, args []string) string {
	verb := firstWord(args)
	for i, w := range args {
		if (w == "run" || w == "run-script") && verb == w {
			verb = firstWord(args[i+1:])
			break
		}
		if (w == "exec" || w == "dlx" || w == "x") && verb == w {
			return behind(passOptions(args[i+1:], ""))
		}
	}
	script, _, _ := strings.Cut(verb, ":")
	if !slices.Contains(scripts, script) {
		return ""
	}
	if name == "npm" && verb != "start" && !slices.Contains(args, "run") && !slices.Contains(args, "run-script") {
		return "" // npm knows no such command
	}
	return name + " " + verb
}

// python judges a module or Django's own script.
func python(name string, args []string) string {
	for i, w := range args {
		switch {
		case w == "-m" && i+1 < len(args):
			module := args[i+1]
			if !slices.Contains(modules, module) {
				return ""
			}
			if verbs := servers[module]; verbs != nil && !slices.Contains(verbs, firstWord(args[i+2:])) {
				return ""
			}
			return name + " -m " + module
		case w == "-c":
			return ""
		case !strings.HasPrefix(w, "-"):
			if base(w) == "manage.py" && i+1 < len(args) && args[i+1] == "runserver" {
				return "manage.py runserver"
			}
			return ""
		}
	}
	return ""
}

// compose judges what starts services: it waits for them unless it is told not to.
func compose(name string, args []string) string {
	if slices.Contains(args, "up") && !slices.ContainsFunc(args, func(w string) bool { return w == "-d" || w == "--detach" || w == "--wait" || w == "--no-start" }) {
		return name + " up"
	}
	return ""
}

// leavesAtOnce says whether a server is only asked to check something, or to go into the background by itself.
func leavesAtOnce(args []string) bool {
	return slices.ContainsFunc(args, func(w string) bool {
		return slices.Contains([]string{"--check-config", "--daemonize", "--daemon", "--fork", "--check", "status", "inspect", "report"}, w)
	})
}

// firstWord is the first that is no option.
func firstWord(args []string) string {
	for _, w := range args {
		if !strings.HasPrefix(w, "-") {
			return w
		}
	}
	return ""
}
