package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// profile writes files into the home, and takes them out again at the end, when the
// home must be empty.
func (w *world) profile(files map[string]string) {
	w.t.Helper()
	for name, content := range files {
		w.t.Cleanup(func() {
			for path := name; path != "."; path = filepath.Dir(path) {
				os.Remove(filepath.Join(w.home, path)) // which a directory with other files in it survives
			}
		})
		dir, parts := w.home, strings.Split(name, "/")
		for _, part := range parts[:len(parts)-1] {
			dir = filepath.Join(dir, part)
			w.mkdir(dir)
		}
		w.write(filepath.Join(w.home, name), content)
	}
}

// complaints are the lines that hermes says.
func complaints(stderr string) []string {
	return strings.FieldsFunc(stderr, func(r rune) bool { return r == '\n' })
}

func TestConfiguredMounts(t *testing.T) {
	asEveryone(t, func(t *testing.T, w *world) {
		for _, dir := range []string{"projects", "books"} {
			w.mkdir(filepath.Join(w.dir, dir))
			w.write(filepath.Join(w.dir, dir, "file"), dir+"\n")
		}
		w.profile(map[string]string{
			"config.yaml": "terminal:\n" +
				"  docker_volumes: ['" + w.dir + "/projects:/workspace/projects', '" + w.dir + "/books:/books:ro', novolume]\n" +
				"  credential_files: [token.json, absent.json, /etc/hostname]\n",
			"token.json":            "secret\n",
			"skills/greet/SKILL.md": "greet\n",
			"cache/documents/d":     "letter\n",
			"cache/private/p":       "private\n",
			".env":                  "KEY=swordfish-4711\n",
		})
		r := w.hermes("sandbox", "exec", "-c", "cat projects/file /books/file ~/.hermes/token.json ~/.hermes/skills/greet/SKILL.md ~/.hermes/cache/documents/d; ls -A ~/.hermes ~/.hermes/cache; echo here >note; echo home >~/note")
		want := "projects\nbooks\nsecret\ngreet\nletter\n/root/.hermes:\ncache\nskills\ntoken.json\n\n/root/.hermes/cache:\ndocuments\n"
		if r.code != 0 || r.stdout != want {
			t.Errorf("%v\nwant %q", r, want)
		}
		said := complaints(r.stderr)
		if len(said) != 3 || !strings.Contains(said[0], `"novolume"`) || !strings.Contains(said[1], "absent.json") || !strings.Contains(said[2], "/etc/hostname") {
			t.Errorf("it says %q", said)
		}
		for _, line := range said {
			if !oneLine(line + "\n") {
				t.Errorf("%q is not a line of ours", line)
			}
		}
		for _, line := range []string{">>/books/file", ">>~/.hermes/token.json", "rm ~/.hermes/skills/greet/SKILL.md", ">~/.hermes/skills/new", ">~/.hermes/cache/documents/new"} {
			if r := w.hermes("sandbox", "exec", "-c", line); r.code == 0 {
				t.Errorf("%q succeeds", line)
			}
		}
		// What is written is on disk: in the volume, and in the sandbox's own directory.
		w.must("sandbox", "exec", "-c", "echo more >projects/new")
		own := filepath.Join(w.home, "sandboxes", "native", "default")
		for path, want := range map[string]string{filepath.Join(w.dir, "projects", "new"): "more\n", filepath.Join(own, "workspace", "note"): "here\n", filepath.Join(own, "home", "note"): "home\n"} {
			if data, err := os.ReadFile(path); err != nil || string(data) != want {
				t.Errorf("%s is %q, %v", path, data, err)
			}
		}
		if sheet := w.must("sandbox", "inspect"); !strings.Contains(sheet, w.dir+"/books, read-only, by the config\n") || !strings.Contains(sheet, w.home+"/token.json, read-only, by the profile\n") {
			t.Errorf("inspect shows\n%s", sheet)
		}
		// Flags come on top, and a sandbox of one command has it all too.
		if got := w.must("run", "--mount", w.dir+"/projects:/books", "-c", "cat /books/file ~/.hermes/token.json; ls"); got != "projects\nsecret\nprojects\n" {
			t.Errorf("with a flag: %q", got)
		}
		w.env = append(w.env, "HERMES_DOCKER_BACKEND_SKIP_PROFILE_MOUNTS=1")
		if r := w.hermes("run", "-c", "cat /books/file; ls -A ~"); r.stdout != "books\n" || r.code != 0 || len(complaints(r.stderr)) != 1 {
			t.Errorf("without the profile: %v", r)
		}
	})
}

func TestConfiguredCallersDirectory(t *testing.T) {
	asEveryone(t, func(t *testing.T, w *world) {
		w.env = append(w.env, "TERMINAL_DOCKER_MOUNT_CWD_TO_WORKSPACE=true")
		w.write("file", "mine\n")
		if got := w.must("sandbox", "exec", "-c", "pwd; cat file; echo new >made"); got != "/workspace\nmine\n" {
			t.Errorf("got %q", got)
		}
		if _, err := os.Stat(filepath.Join(w.work, "made")); err != nil {
			t.Error(err)
		}
		// Who calls from elsewhere means another directory, or nothing.
		w.must("sandbox", "exec", "-c", asleep)
		first := w.work
		w.work = filepath.Join(w.dir, "elsewhere")
		w.mkdir(w.work)
		r := w.hermes("sandbox", "exec", "-c", "rm -rf made")
		if r.code != 125 || !oneLine(r.stderr) || !strings.Contains(r.stderr, "in use (mounts: /workspace from "+first+" → "+w.work) {
			t.Errorf("in use for another directory: %v", r)
		}
		w.must("sandbox", "rm", "default")
		if got := w.must("sandbox", "exec", "--", "ls"); got != "" {
			t.Errorf("elsewhere there is %q", got)
		}
		gone := w.command("sandbox", "exec", "--", "ls")
		gone.Env = append(gone.Env, "TERMINAL_CWD="+filepath.Join(w.dir, "absent"))
		if r := w.finish(gone); r.code != 0 || !oneLine(r.stderr) || !strings.Contains(r.stderr, "absent at /workspace: it does not exist") {
			t.Errorf("a directory that is not there: %v", r)
		}
	})
}

func TestNotPersistent(t *testing.T) {
	asEveryone(t, func(t *testing.T, w *world) {
		w.profile(map[string]string{"config.yaml": "terminal:\n  container_persistent: false\n"})
		for _, flags := range [][]string{nil, {"--memory", "1g"}} {
			call := append([]string{"sandbox", "exec"}, flags...)
			got := w.must(append(call, "-c", "stat -f -c %T /root /home /workspace | sort -u; ls -A ~ /home /workspace; touch ~/f /home/f f; ! grep sandboxes /proc/self/mountinfo")...)
			if got != "tmpfs\n/home:\n\n/root:\n\n/workspace:\n" {
				t.Errorf("%q: got %q", flags, got)
			}
			if left := w.tree(filepath.Join(w.home, "sandboxes", "native")); len(left) > 0 {
				t.Errorf("%q: it left %q", flags, left)
			}
		}
		// What a caller says himself counts, and what is kept is not lost by a setting.
		w.must("sandbox", "exec", "--ephemeral=false", "-c", "echo kept >f")
		w.must("sandbox", "rm", "default")
		if r := w.hermes("sandbox", "exec", "--", "true"); r.code != 125 || !oneLine(r.stderr) || !strings.Contains(r.stderr, "keeps files") {
			t.Errorf("%v", r)
		}
		if got := w.must("sandbox", "exec", "--ephemeral=false", "--", "cat", "f"); got != "kept\n" {
			t.Errorf("got %q", got)
		}
	})
}

// asleep leaves a process behind, and ends when that one sleeps.
const asleep = `sleep 300 >/dev/null 2>&1 & until [ "$(cat /proc/$!/comm)" = sleep ]; do :; done`

// TestD25LateFilesAppear shows that what is added to the profile reaches a sandbox
// that exists: at once in directories, otherwise as soon as nobody is disturbed.
func TestD25LateFilesAppear(t *testing.T) {
	asEveryone(t, func(t *testing.T, w *world) {
		w.profile(map[string]string{"skills/one": "1\n", "skills/two/SKILL.md": "2\n"})
		look := []string{"sandbox", "exec", "-c", "cat ~/.hermes/skills/*/SKILL.md ~/.hermes/token* 2>/dev/null; pidof sleep >/dev/null && echo same; true"}
		if got := w.must(look...); got != "2\n" {
			t.Fatalf("got %q", got)
		}
		w.must("sandbox", "exec", "-c", asleep)
		w.profile(map[string]string{"skills/three/SKILL.md": "3\n"})
		if got := w.must(look...); got != "3\n2\nsame\n" {
			t.Errorf("a late skill: %q", got)
		}

		w.profile(map[string]string{"token": "secret\n", "config.yaml": "terminal:\n  credential_files: [token]\n"})
		r := w.hermes(look...)
		if r.code != 0 || r.stdout != "3\n2\nsame\n" || !oneLine(r.stderr) || !strings.Contains(r.stderr, "/root/.hermes/token from none → "+w.home+"/token read-only") {
			t.Errorf("a late credential while it is in use: %v", r)
		}
		w.must("sandbox", "exec", "-c", "pkill sleep; while pidof sleep >/dev/null; do :; done")
		if r := w.hermes(look...); r.stdout != "3\n2\nsecret\n" || r.stderr != "" {
			t.Errorf("a late credential: %v", r)
		}

		// A copy for the sake of a link is kept up to date in its place.
		link := filepath.Join(w.home, "skills", "link")
		if err := os.Symlink("/etc", link); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { os.Remove(link) })
		if got := w.must("sandbox", "exec", "-c", "ls ~/.hermes/skills"); got != "one\nthree\ntwo\n" {
			t.Errorf("with a link: %q", got)
		}
		w.must("sandbox", "exec", "-c", asleep)
		w.profile(map[string]string{"skills/two/SKILL.md": "22\n"})
		if r := w.hermes(look...); r.stdout != "3\n22\nsecret\nsame\n" || r.stderr != "" {
			t.Errorf("a late change in a copy: %v", r)
		}

		w.profile(map[string]string{"config.yaml": "terminal:\n  docker_volumes: ['" + w.work + ":/x']\n"})
		if r := w.hermes("sandbox", "exec", "--", "true"); r.code != 125 || !oneLine(r.stderr) || !strings.Contains(r.stderr, "/x from none") {
			t.Errorf("a late volume while it is in use: %v", r)
		}
	})
}

func TestAPlaceThatTheAgentTookStopsTheStart(t *testing.T) {
	asEveryone(t, func(t *testing.T, w *world) {
		w.profile(map[string]string{"skills/one": "1\n"})
		w.must("sandbox", "exec", "-c", "mv ~/.hermes ~/was; ln -s /etc ~/.hermes")
		w.must("sandbox", "rm", "default")
		r := w.hermes("sandbox", "exec", "--", "true")
		if r.code != 125 || !oneLine(r.stderr) || !strings.Contains(r.stderr, "/root/.hermes is a link where a directory is needed; remove it") {
			t.Errorf("%v", r)
		}
		mend := w.command("sandbox", "exec", "--", "rm", "/root/.hermes")
		mend.Env = append(mend.Env, "HERMES_DOCKER_BACKEND_SKIP_PROFILE_MOUNTS=1")
		if r := w.finish(mend); r.code != 0 {
			t.Errorf("%v", r)
		}
		if got := w.must("sandbox", "exec", "-c", "cat ~/.hermes/skills/one"); got != "1\n" {
			t.Errorf("got %q", got)
		}
	})
}

func TestABrokenConfigurationIsOneLine(t *testing.T) {
	w := newWorld(t, nil)
	w.profile(map[string]string{"config.yaml": "key: hunter2\nterminal: [\n"})
	r := w.hermes("run", "--", "true")
	if r.code != 125 || !oneLine(r.stderr) || !strings.Contains(r.stderr, "config.yaml") || strings.Contains(r.stderr, "hunter2") {
		t.Errorf("%v", r)
	}
	w.write(filepath.Join(w.home, "config.yaml"), "")
	w.env = append(w.env, "TERMINAL_DOCKER_VOLUMES=/a:/b")
	if r := w.hermes("run", "--", "true"); r.code != 125 || !oneLine(r.stderr) || !strings.Contains(r.stderr, "TERMINAL_DOCKER_VOLUMES") {
		t.Errorf("%v", r)
	}
	if r := w.hermes("sandbox", "ls"); r.code != 0 {
		t.Errorf("what has no mounts: %v", r)
	}
}
