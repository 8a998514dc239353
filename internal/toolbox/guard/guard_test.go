package guard

import (
	"os/exec"
	"strings"
	"testing"
	"time"
)

// What is refused, with a word of the reason.
var refused = map[string]string{
	"sleep 60 &":                         `"&"`,
	"make & make test":                   `"&"`,
	"a && b &":                           `"&"`,
	"(a; b) &":                           `"&"`,
	"{ a; b; } &":                        `"&"`,
	"for i in 1 2; do work $i & done":    `"&"`,
	"while true; do x; done &":           `"&"`,
	"a &\nb":                             `"&"`,
	"a&":                                 `"&"`,
	"a >log 2>&1 &":                      `"&"`,
	"a &>log &":                          `"&"`,
	"a |& b &":                           `"&"`,
	"x=$(sleep 5 & echo 1)":              `"&"`,
	"echo \"$(sleep 5 &)\"":              `"&"`,
	"echo `sleep 5 &`":                   `"&"`,
	"diff <(a &) b":                      `"&"`,
	"curl http://h/?a=1&b=2":             "in quotes",
	"cat <<EOF &\nx\nEOF":                `"&"`,
	"cat <<'EOF'\na & b\nEOF\nsleep 9 &": `"&"`,
	"echo ok # comment\nsleep 9 &":       `"&"`,
	"wait; sleep 9 &":                    `"&"`,
	"sleep 9 & wait %1":                  `"&"`,
	"bash -c 'sleep 9 &'":                `"&"`,
	"sh -lc \"nohup x\"":                 "nohup",
	"eval 'sleep 9 &'":                   `"&"`,
	"case a in a) sleep 9 & ;; esac":     `"&"`,
	"nohup ./run.sh":                     "nohup",
	"nohup ./run.sh >log 2>&1 &":         "nohup",
	"/usr/bin/nohup ./run.sh":            "nohup",
	"sudo -u bob nohup x":                "nohup",
	"FOO=1 BAR='a b' nohup x":            "nohup",
	"if true; then nohup x; fi":          "nohup",
	"cd /x && setsid ./run.sh":           "setsid",
	"disown -a":                          "disown",
	"coproc cat":                         "coproc",
	"\"nohup\" x":                        "nohup",
	"no\\\nhup x":                        "nohup",
	"npm run dev":                        "npm dev starts a server",
	"npm start":                          "npm start",
	"cd web && npm run dev -- --port 3":  "npm dev",
	"npm --prefix=web run start:dev":     "start:dev",
	"yarn dev":                           "yarn dev",
	"pnpm run serve":                     "pnpm serve",
	"bun run dev":                        "bun dev",
	"npx vite":                           "vite",
	"npx -y http-server@14 -p 80":        "http-server",
	"npm exec -- next dev":               "next dev",
	"uvicorn app:app --reload":           "uvicorn",
	"PORT=1 uvicorn app:app":             "uvicorn",
	"python3 -m http.server 8000":        "http.server",
	"python -u -m uvicorn app:app":       "uvicorn",
	"python manage.py runserver":         "runserver",
	"flask --debug run":                  "flask run",
	"uv run uvicorn a:b":                 "uvicorn",
	"docker compose up":                  "compose up",
	"php -S localhost:80":                "php -S",
	"hugo server -D":                     "hugo server",
	"redis-server 2>&1 | tee log":        "redis-server",
	"make build; gunicorn a:b":           "gunicorn",
	"(cd x; rails s)":                    "rails s",
	"exec jupyter lab --no-browser":      "jupyter lab",
	"env -u X A=1 streamlit run a.py":    "streamlit run",
	"echo a & echo b & echo c":           `"&"`,
	"a & { b; }":                         `"&"`,
	"((x & 1)) & y":                      `"&"`,
	"echo ${x:-$(sleep 1 &)}":            `"&"`,
	"[[ a && b ]] && nohup c":            "nohup",
	"x() { nohup y; }; x":                "nohup",
	"git stash && npm run watch || true": "npm watch",
}

// What passes though it looks alike.
var passing = []string{
	"", "   ", "\n", "ls", "make && make test", "a || b", "a; b", "a | b", "a |& b",
	"make 2>&1", "make &>log", "make &>>log", "make >&2", "make 2>&1 | tail", "exec 3>&-", "a <&3", "a >|x", "a 2>&1 && b",
	"echo 'a & b'", `echo "a & b"`, `echo a \& b`, `echo $'it\'s & so'`, `grep "foo & bar" x`, `git commit -m "use nohup & setsid"`,
	"curl 'http://h/?a=1&b=2'", `curl "http://h/?a=1&b=2"`, `curl http://h/?a=1\&b=2`,
	"echo nohup", "which nohup", "command -v nohup", "command -V uvicorn >/dev/null", "man setsid", "grep -r nohup .", "nohup --help", "setsid --version", "setsid -w make",
	"# sleep 9 &", "ls # nohup x &", "echo a#b", "echo ${#x}",
	"cat <<EOF\na & b\nnohup x\nnpm run dev\nEOF", "cat <<'E O'\nx &\nE O\nls", "cat <<-EOF\n\tsleep 9 &\n\tEOF\nls", "cat <<A <<B\nx &\nA\ny &\nB\nls",
	"cat <<< 'a & b'", "python3 - <<'PY'\nx = a & b\nPY",
	"echo $((1 & 2))", "((x = a & b))", "echo $(( (1 & 2) + 3 ))", "let 'x=a&b'", "for ((i=0; i&1; i++)); do x; done",
	"[[ $a == 1 && $b == 2 ]]", "case $x in a) b ;& c) d ;;& *) e ;; esac", "if a && b; then c; fi",
	"sleep 1 & sleep 2 & wait", "for i in 1 2 3; do work $i & done; wait", "(a & b & wait)", "x & y; wait",
	"npm install", "npm test", "npm run build", "npm run test:watch-less", "npm run dev --help", "npx tsc", "npx prettier --check .", "yarn", "yarn add dev", "pnpm i", "npm dev",
	"vite build", "next build", "next lint", "ng build", "hugo", "hugo new site x", "mkdocs build", "flask db upgrade", "jupyter nbconvert x.ipynb",
	"uvicorn --help", "uvicorn --version", "gunicorn --check-config a:b", "redis-server -v", "redis-server --daemonize yes", "python -m http.server --help",
	"timeout 5 npm run dev", "timeout -k 1 5 uvicorn a:b", "timeout 3s python3 -m http.server",
	"pip install uvicorn gunicorn", "cat uvicorn.py", "python -m pytest -k 'http.server'", "python -c 'import http.server'", "python manage.py migrate", "python serve.py",
	"docker compose up -d", "docker compose build", "docker-compose up --detach", "docker ps",
	"echo 'unterminated", `echo "unterminated`, "echo $(unterminated", "echo `unterminated", "echo ${unterminated", "cat <<EOF", "cat <<", ">", "2>&", "((", "a=(1 2", ")", ";;", "|", "\\", "$", "$(", "`",
	"a=(x y z); echo ${a[@]}", "shopt -s extglob; ls !(a|b)", "f() { echo hi; }; f", "echo a{b,c}d", "bash -c 'echo \"a & b\"'", "bash script.sh", "sh -c", "bash -x run.sh -c 'x &'",
	"sudo", "env", "env A=1", "timeout 5", "time", "! true", "xargs -n 1 echo", "find . -name '*.py' -exec grep x {} +",
}

func TestWhatIsNotToBeWaitedForIsRefused(t *testing.T) {
	for line, why := range refused {
		if got := Foreground(line); !strings.Contains(got, why) || !strings.Contains(got, "background=true") {
			t.Errorf("%q: %q, want something with %q", line, got, why)
		}
	}
}

func TestWhatOnlyLooksAlikePasses(t *testing.T) {
	for _, line := range passing {
		if got := Foreground(line); got != "" {
			t.Errorf("%q: %q", line, got)
		}
	}
}

// The tables would prove little if a shell read the lines in another way: those that it understands are checked to be
// what they seem.
func TestLinesAreOnesThatAShellUnderstands(t *testing.T) {
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("there is no bash here")
	}
	for line := range refused {
		if out, err := exec.Command(bash, "-n", "-O", "extglob", "-c", line).CombinedOutput(); err != nil {
			t.Errorf("%q: %v, %s", line, err, out)
		}
	}
}

func TestProcessIsNotLeftAtOnce(t *testing.T) {
	for _, line := range []string{"server &", "a && b &", "nohup x >log 2>&1 &"} {
		if Background(line) == "" {
			t.Errorf("%q passes", line)
		}
	}
	for _, line := range []string{"", "server", "a & b", "a & wait", "npm run dev", "echo 'x &'"} {
		if why := Background(line); why != "" {
			t.Errorf("%q: %s", line, why)
		}
	}
}

// A line that a model wrote may be anything. What takes more than its length squared would hold the door.
func TestLongLinesTakeNoTime(t *testing.T) {
	for _, part := range []string{"((", "$(", "$((", "`", "\"$(", "${", "<<x\n", "<(", "a=(", "eval 'eval ", "(", "{ ", "\\`"} {
		began := time.Now()
		Foreground(strings.Repeat(part, 120_000/len(part)) + "))")
		if took := time.Since(began); took > 6*time.Second {
			t.Errorf("%q: it took %s", part, took)
		}
	}
}

func FuzzWhatIsInQuotesOrACommentPasses(f *testing.F) {
	for line := range refused {
		f.Add(line)
	}
	for _, line := range passing {
		f.Add(line)
	}
	f.Fuzz(func(t *testing.T, line string) {
		Foreground(line) // ends, and does not panic
		Background(line)
		if quoted := "echo '" + strings.ReplaceAll(line, "'", `'\''`) + "'"; Foreground(quoted) != "" {
			t.Errorf("%q: %s", quoted, Foreground(quoted))
		}
		if !strings.ContainsAny(line, "\n") && Foreground("true # "+line) != "" {
			t.Errorf("as a comment, %q: %s", line, Foreground("true # "+line))
		}
		document := "cat <<'--end--'\n" + line + "\n--end--\n"
		if !strings.Contains(line, "--end--") && Foreground(document) != "" {
			t.Errorf("%q: %s", document, Foreground(document))
		}
	})
}
