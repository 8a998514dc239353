package enginetest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"hermes.example/hermes/sandbox"
)

var mountTests = []test{
	{"mounts/a directory is readable and writable", mountWritable},
	{"mounts/a read-only one cannot be written", mountReadOnly},
	{"mounts/a single file can be mounted", mountFile},
	{"mounts/mounts nest", mountNested},
	{"mounts/one at the workspace replaces it", mountWorkspace},
	{"mounts/D16 one below the workspace does not", mountBelowWorkspace},
	{"mounts/D16 one beside the workspace does not", mountBesideWorkspace},
	{"mounts/a link in a writable mount is not followed", mountOverLink},
	{"mounts/a place that somebody took is one clear error", mountPlaceTaken},
	{"mounts/one in the home leaves the rest of it to the sandbox", mountInHome},
	{"mounts/D25 what is added to a directory appears at once", mountGrows},
	{"mounts/a source that does not exist is an error", mountMissing},
	{"mounts/files of the sandbox are its user's outside", mountOwner},
}

// folder makes a directory of the test with files in it.
func folder(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, content := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func mounts(m ...sandbox.Mount) func(*sandbox.Spec) {
	return func(spec *sandbox.Spec) { spec.Mounts = append(spec.Mounts, m...) }
}

func read(t *testing.T, path ...string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(path...))
	if err != nil {
		t.Error(err)
	}
	return string(data)
}

func mountWritable(t *testing.T, s *suite) {
	s.need(t, HostMounts)
	dir := folder(t, map[string]string{"file": "outside", "sub/file": "deep"})
	b := s.box(t, mounts(sandbox.Mount{Source: dir, Target: "/mnt/here"}))
	b.says("cd /mnt/here; cat file sub/file; echo inside >new; mkdir made; echo more >>file", "outsidedeep")
	if got := read(t, dir, "new") + read(t, dir, "file"); got != "inside\noutsidemore\n" {
		t.Errorf("outside there is %q", got)
	}
	if err := os.WriteFile(filepath.Join(dir, "late"), []byte("late"), 0o644); err != nil {
		t.Fatal(err)
	}
	b.says("cat /mnt/here/late", "late")
	b.line("mknod /mnt/here/null c 1 3").ended(1, sandbox.Exited)
}

func mountReadOnly(t *testing.T, s *suite) {
	s.need(t, HostMounts)
	dir := folder(t, map[string]string{"file": "outside", "sub/file": "deep"})
	b := s.box(t, mounts(sandbox.Mount{Source: dir, Target: "/mnt/here", ReadOnly: true}))
	b.says("cat /mnt/here/file", "outside")
	for _, line := range []string{"echo x >/mnt/here/new", "echo x >>/mnt/here/file", "rm /mnt/here/file", "echo x >/mnt/here/sub/file", "chmod 777 /mnt/here/file", "touch /mnt/here/file", "mv /mnt/here/file /tmp"} {
		if o := b.line(line); o.Code == 0 {
			t.Errorf("%q succeeds", line)
		}
	}
	if read(t, dir, "file") != "outside" || read(t, dir, "sub/file") != "deep" {
		t.Error("the files were changed")
	}
}

func mountFile(t *testing.T, s *suite) {
	s.need(t, HostMounts)
	dir := folder(t, map[string]string{"file": "one", "other": "two"})
	b := s.box(t, mounts(sandbox.Mount{Source: filepath.Join(dir, "file"), Target: "/mnt/a"},
		sandbox.Mount{Source: filepath.Join(dir, "other"), Target: "/etc/hosts", ReadOnly: true}))
	b.says("cat /mnt/a /etc/hosts; echo more >>/mnt/a; ls /mnt", "onetwoa")
	b.line("echo x >>/etc/hosts").ended(1, sandbox.Exited)
	if read(t, dir, "file") != "onemore\n" || read(t, dir, "other") != "two" {
		t.Error("the files are not as they should be")
	}
}

func mountNested(t *testing.T, s *suite) {
	s.need(t, HostMounts)
	outer, inner := folder(t, map[string]string{"file": "outer", "below/hidden": ""}), folder(t, map[string]string{"file": "inner"})
	deep := folder(t, map[string]string{"file": "deep"})
	// In the order in which they nest, and in the other one.
	m := []sandbox.Mount{{Source: outer, Target: "/mnt/a", ReadOnly: true}, {Source: inner, Target: "/mnt/a/below"}, {Source: deep, Target: "/mnt/x/y/z"}}
	for _, list := range [][]sandbox.Mount{m, {m[2], m[1], m[0]}} {
		b := s.box(t, mounts(list...))
		b.says("cat /mnt/a/file /mnt/a/below/file /mnt/x/y/z/file; ls /mnt/a/below", "outerinnerdeepfile")
		b.line("echo x >/mnt/a/new").ended(1, sandbox.Exited)
		b.output("echo x >/mnt/a/below/new && rm /mnt/a/below/new")
	}
}

func mountWorkspace(t *testing.T, s *suite) {
	s.need(t, HostMounts)
	dir := folder(t, map[string]string{"file": "mine"})
	for _, kind := range []func(*sandbox.Spec){func(*sandbox.Spec) {}, ephemeral} {
		b := s.box(t, kind, mounts(sandbox.Mount{Source: dir, Target: "/workspace/"}))
		b.says("pwd; cat file; ls /workspace", "/workspace\nminefile")
		b.says("grep -c ' /workspace ' /proc/self/mountinfo", "1")
	}
}

func mountBelowWorkspace(t *testing.T, s *suite) {
	s.need(t, HostMounts)
	dir := folder(t, map[string]string{"file": "mine"})
	b := s.box(t, mounts(sandbox.Mount{Source: dir, Target: "/workspace/projects/one"}))
	b.says("cat projects/one/file; echo kept >note; ls", "minenote\nprojects")
	s.removed(b)
	s.ensure(t, s.manager, b.Identity(), s.spec()).says("cat note", "kept")
}

func mountBesideWorkspace(t *testing.T, s *suite) {
	s.need(t, HostMounts)
	dir := folder(t, map[string]string{"file": "mine"})
	b := s.box(t, mounts(sandbox.Mount{Source: dir, Target: "/workspace2"}))
	b.says("cat /workspace2/file; echo kept >note; pwd", "mine/workspace")
	s.removed(b)
	s.ensure(t, s.manager, b.Identity(), s.spec()).says("cat note", "kept")
}

// A mount's place may lie in a tree that somebody else can write. A link there
// must not lead the mount to another place, nor out of the sandbox.
func mountOverLink(t *testing.T, s *suite) {
	s.need(t, HostMounts)
	victim := folder(t, map[string]string{"file": "untouched"})
	evil := folder(t, map[string]string{"file": "evil"})
	for name, link := range map[string]string{"inside": "/etc", "outside": victim, "up": "../../../../etc", "nowhere": "/no/such"} {
		tree := folder(t, nil)
		if err := os.Symlink(link, filepath.Join(tree, "link")); err != nil {
			t.Fatal(err)
		}
		for _, target := range []string{"/mnt/tree/link", "/mnt/tree/link/deeper"} {
			for _, source := range []string{evil, filepath.Join(evil, "file")} {
				id := s.identity(t)
				held, err := s.manager.Ensure(bounded(t), id, s.spec(mounts(sandbox.Mount{Source: tree, Target: "/mnt/tree"}, sandbox.Mount{Source: source, Target: target})))
				if err != nil {
					if !strings.Contains(err.Error(), target) {
						t.Errorf("%s: the refusal is %v", name, err)
					}
					s.nothing(t, id)
					continue
				}
				b := s.hold(t, held, s.spec())
				place := target
				if source == evil {
					place += "/file"
				}
				b.says("cat "+place, "evil") // there, and nowhere else
				b.line("cat /etc/file /etc/deeper/file /etc/deeper /no/such /no/such/file").ended(1, sandbox.Exited)
				b.line("cat /etc/passwd >/dev/null").ended(0, sandbox.Exited)
			}
		}
		if entries, err := os.ReadDir(victim); err != nil || len(entries) != 1 || read(t, victim, "file") != "untouched" {
			t.Errorf("%s: the link was followed out of the sandbox: %v", name, entries)
		}
	}
	// In the sandbox's own files, which its commands can write.
	b := s.box(t)
	b.output("ln -s /etc /workspace/link; mkdir /workspace/dir")
	s.removed(b)
	held, err := s.manager.Ensure(bounded(t), b.Identity(), s.spec(mounts(sandbox.Mount{Source: evil, Target: "/workspace/link/alternatives"})))
	if err == nil {
		s.hold(t, held, s.spec()).line("cat /etc/alternatives/file").ended(1, sandbox.Exited)
	}
}

// Places in the home are made on disk, where commands can put something else. A
// sandbox that lacks a mount, or has it elsewhere, must not start.
func mountPlaceTaken(t *testing.T, s *suite) {
	s.need(t, HostMounts)
	dir := folder(t, map[string]string{"file": "mine"})
	target := sandbox.Home + "/.hermes/skills"
	for line, said := range map[string]string{
		"ln -s /etc ~/.hermes":                       sandbox.Home + "/.hermes is a link",
		"echo x >~/.hermes":                          sandbox.Home + "/.hermes is a file",
		"mkfifo ~/.hermes":                           sandbox.Home + "/.hermes is a special file",
		"mkdir ~/.hermes; ln -s .. ~/.hermes/skills": target + " is a link",
		"mkdir ~/.hermes; echo x >~/.hermes/skills":  target + " is a file",
	} {
		b := s.box(t)
		b.output(line)
		s.removed(b)
		_, err := s.manager.Ensure(bounded(t), b.Identity(), s.spec(mounts(sandbox.Mount{Source: dir, Target: target, ReadOnly: true})))
		if err == nil || !strings.Contains(err.Error(), said) || !strings.Contains(err.Error(), "remove it") || strings.Contains(err.Error(), "\n") {
			t.Errorf("%q: the error is %v", line, err)
		}
		if !s.gone(t, b.Identity()) {
			t.Errorf("%q: it runs all the same", line)
		}
	}
	b := s.box(t)
	b.output("mkdir -p ~/.hermes/token")
	s.removed(b)
	token := sandbox.Mount{Source: filepath.Join(dir, "file"), Target: sandbox.Home + "/.hermes/token"}
	if _, err := s.manager.Ensure(bounded(t), b.Identity(), s.spec(mounts(token))); err == nil || !strings.Contains(err.Error(), token.Target+" is a directory") {
		t.Errorf("the error is %v", err)
	}
}

func mountInHome(t *testing.T, s *suite) {
	s.need(t, HostMounts)
	dir := folder(t, map[string]string{"skill": "skilled", "token": "secret"})
	inHome := mounts(sandbox.Mount{Source: dir, Target: sandbox.Home + "/.hermes/skills", ReadOnly: true},
		sandbox.Mount{Source: filepath.Join(dir, "token"), Target: sandbox.Home + "/.hermes/token", ReadOnly: true})
	for _, kind := range []func(*sandbox.Spec){func(*sandbox.Spec) {}, ephemeral} {
		b := s.box(t, kind, inHome)
		b.says("cd ~/.hermes; cat skills/skill token; echo x >note; cat note", "skilledsecretx")
		for _, line := range []string{"echo x >~/.hermes/token", "rm ~/.hermes/token", "mv ~/.hermes/token ~/.hermes/other", "rm ~/.hermes/skills/skill", "rmdir ~/.hermes/skills"} {
			if o := b.line(line); o.Code == 0 {
				t.Errorf("%q succeeds", line)
			}
		}
	}
	b := s.box(t, inHome)
	b.output("echo kept >~/.hermes/note")
	s.removed(b)
	s.ensure(t, s.manager, b.Identity(), s.spec()).says("cat ~/.hermes/note; ls -A ~/.hermes/skills; cat ~/.hermes/token", "kept")
}

func mountGrows(t *testing.T, s *suite) {
	s.need(t, HostMounts)
	dir := folder(t, map[string]string{"old": "old"})
	b := s.box(t, mounts(sandbox.Mount{Source: dir, Target: sandbox.Home + "/.hermes/skills", ReadOnly: true}))
	b.says("cat ~/.hermes/skills/old", "old")
	for _, name := range []string{"new", "old"} { // one more, and one replaced
		other := filepath.Join(dir, "other")
		if err := os.WriteFile(other, []byte("fresh"), 0o644); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(other, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
		b.says("cat ~/.hermes/skills/"+name, "fresh")
	}
}

func mountMissing(t *testing.T, s *suite) {
	s.need(t, HostMounts)
	id := s.identity(t)
	missing := filepath.Join(t.TempDir(), "missing")
	_, err := s.manager.Ensure(bounded(t), id, s.spec(mounts(sandbox.Mount{Source: missing, Target: "/mnt"})))
	if err == nil || !strings.Contains(err.Error(), missing) || !strings.Contains(err.Error(), "does not exist") {
		t.Errorf("the error is %v", err)
	}
	if _, err := os.Stat(missing); err == nil {
		t.Error("it was made")
	}
	s.nothing(t, id)
}

func mountOwner(t *testing.T, s *suite) {
	s.need(t, HostMounts)
	dir := folder(t, map[string]string{"file": "mine"})
	b := s.box(t, mounts(sandbox.Mount{Source: dir, Target: "/mnt/here"}))
	b.says("stat -c %u:%g /mnt/here/file; echo x >/mnt/here/new", "0:0")
	if err := os.WriteFile(filepath.Join(dir, "new"), []byte("y"), 0o644); err != nil {
		t.Errorf("what was made inside is not ours: %v", err)
	}
	if err := os.Remove(filepath.Join(dir, "new")); err != nil {
		t.Error(err)
	}
}
