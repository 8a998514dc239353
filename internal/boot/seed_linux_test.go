package boot

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"hermes.example/hermes/internal/lease"
)

func TestABlankVolumeIsSeeded(t *testing.T) {
	f := newFixture(t)
	r := f.boot()
	for _, dir := range seeded {
		if got := f.owner("opt/data/" + dir); got != hermes {
			t.Errorf("%s is %v's", dir, got)
		}
	}
	for file, mode := range map[string]os.FileMode{".env": 0o600, "config.yaml": 0o640, "SOUL.md": 0o644} {
		if f.owner("opt/data/"+file) != hermes || f.mode("opt/data/"+file) != mode {
			t.Errorf("%s is %v's, mode %v", file, f.owner("opt/data/"+file), f.mode("opt/data/"+file))
		}
	}
	if f.read("opt/data/SOUL.md") != "You are Hermes.\n" || f.exists("opt/data/profiles") || f.exists("opt/data/gateway_state.json") {
		t.Error("other files than seeded")
	}
	if f.owner("tmp/hermes-files") != hermes || f.mode("tmp/hermes-files") != 0o700 {
		t.Error("the scratch directory is another's, or open")
	}
	if len(r.Shortfalls) > 0 || r.Lease == nil || r.Holder != nil || r.User.Home != "/opt/data" || r.Home != "/opt/data" {
		t.Errorf("%+v", r)
	}
}

func TestWhatIsThereKeepsItsContent(t *testing.T) {
	f := newFixture(t)
	key := "API_SERVER_KEY=" + strings.Repeat("k", 40)
	for file, text := range map[string]string{".env": key, "config.yaml": "a: b", "SOUL.md": ""} {
		f.write("opt/data/"+file, text)
	}
	f.boot()
	if f.read("opt/data/.env") != key || f.read("opt/data/config.yaml") != "a: b" || f.read("opt/data/SOUL.md") != "" {
		t.Error("content changed")
	}
	if f.mode("opt/data/.env") != 0o600 || f.mode("opt/data/config.yaml") != 0o640 {
		t.Errorf("modes %v and %v", f.mode("opt/data/.env"), f.mode("opt/data/config.yaml"))
	}
}

// moments are when the files below a directory were changed in any way.
func moments(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(dir, func(file string, _ fs.DirEntry, err error) error {
		if err != nil || filepath.Base(file) == lease.File {
			return err
		}
		all[file] = changeTime(t, file)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func TestTheSecondBootWritesNothing(t *testing.T) {
	f := newFixture(t, "PUID=1000", "HERMES_GATEWAY_BOOTSTRAP_STATE=running", "HERMES_HOME_MODE=0750", `HERMES_AUTH_JSON_BOOTSTRAP={"providers":{}}`)
	f.write("opt/hermes/skills/research/arxiv/SKILL.md", "# arxiv\n")
	f.write("opt/data/profiles/x/SOUL.md", "x")
	f.graphics("card0", 44)
	r := f.boot()
	before := moments(t, f.Root)
	time.Sleep(20 * time.Millisecond) // coarser than any clock of a file system here
	f.again(r)
	after := moments(t, f.Root)
	for file, at := range after {
		if before[file] != at {
			t.Errorf("%s was changed", strings.TrimPrefix(file, f.Root))
		}
	}
	if len(before) != len(after) || len(before) < 20 {
		t.Errorf("%d files before, %d after", len(before), len(after))
	}
}

func TestTheGatewayStateIsSeededOnlyByItsWord(t *testing.T) {
	for value, want := range map[string]bool{"running": true, "stopped": false, "": false, "Running": false, "1": false, "running ": false} {
		f := newFixture(t, "HERMES_GATEWAY_BOOTSTRAP_STATE="+value)
		f.boot()
		const file = "opt/data/gateway_state.json"
		if f.exists(file) != want {
			t.Errorf("%q: exists %v", value, !want)
		}
		if want && (f.read(file) != `{"gateway_state":"running"}`+"\n" || f.mode(file) != 0o644 || f.owner(file) != hermes) {
			t.Errorf("%q: %s %v %v", value, f.read(file), f.mode(file), f.owner(file))
		}
	}
	for _, odd := range []string{"[]", "", "\ufeff{}", strings.Repeat("x", largest+1)} {
		f := newFixture(t, "HERMES_GATEWAY_BOOTSTRAP_STATE=running")
		f.write("opt/data/gateway_state.json", odd)
		if r := f.boot(); f.read("opt/data/gateway_state.json") != odd || len(r.Shortfalls) > 0 {
			t.Errorf("an odd state was changed; %q", r.Shortfalls)
		}
	}
}

func TestTheInstallMarkIsTheImagesOnly(t *testing.T) {
	for text, stays := range map[string]bool{"docker": false, " docker\n": false, "pip\n": true, "": true, "dockers": true} {
		f := newFixture(t)
		f.write("opt/data/.install_method", text)
		f.write("opt/hermes/.install_method", "docker")
		f.must(os.Chown(f.at("opt/data"), 10000, 10000))
		f.boot()
		if f.exists("opt/data/.install_method") != stays || f.read("opt/hermes/.install_method") != "docker" {
			t.Errorf("%q: stays %v", text, !stays)
		}
	}
}

func TestModeOfTheHome(t *testing.T) {
	for text, want := range map[string]os.FileMode{"": 0o755, "0750": 0o750, "700": 0o700, "0999": 0o755, "0077": 0o755, "4755": 0o755, "750x": 0o755, "0o750": 0o755} {
		f := newFixture(t, "HERMES_HOME_MODE="+text)
		r := f.boot()
		if got := f.mode("opt/data"); got != want {
			t.Errorf("%q: mode %v", text, got)
		}
		if good := text == "" || want != 0o755; good != (len(r.Shortfalls) == 0) {
			t.Errorf("%q: %q", text, r.Shortfalls)
		}
	}
}

func TestHomesWithOddNames(t *testing.T) {
	for _, home := range []string{"/data/a b", "/data/$(touch x)`id`;'\"", "/data/with\nnewline", "/data/*", "/deep/er/and/deeper", "/data/ü", "/data/-x", "/data//x/../y/"} {
		f := newFixture(t, "HERMES_HOME="+home)
		r := f.boot()
		want := filepath.Clean(home)
		if r.Home != want || f.owner(want) != hermes || f.owner(want+"/logs/gateways") != hermes {
			t.Errorf("%q: home %q, owners %v", home, r.Home, f.owner(want))
		}
		if got := environment(r.Environ()).get("HERMES_HOME"); got != want {
			t.Errorf("%q: children get %q", home, got)
		}
		if f.owner(filepath.Dir(want)) != [2]int{0, 0} {
			t.Errorf("%q: the directory above is not root's", home)
		}
	}
}

func TestWhatCannotBeAHome(t *testing.T) {
	for _, home := range []string{"/", "/etc", "/etc/x", "/usr/lib/x", "/opt", "/opt/hermes", "/opt/hermes/data", "/tmp", "/proc/self", "/profiles/x", "relative", "~/x", "/opt/data/../../etc"} {
		f := newFixture(t, "HERMES_HOME="+home)
		if _, err := f.try(); err == nil || !strings.Contains(err.Error(), `boot stopped at "home"`) {
			t.Errorf("%q: %v", home, err)
		}
		if f.exists("etc/x") || f.exists("usr") || f.exists("opt/hermes/data") || f.exists("profiles") {
			t.Errorf("%q: something was made", home)
		}
		if f.owner("etc") != [2]int{0, 0} || f.owner("opt") != [2]int{0, 0} || f.owner("") != [2]int{0, 0} {
			t.Errorf("%q: something was given away", home)
		}
	}
}

// The home of a profile: the way to it is the user's, and all profiles are supervised together.
func TestTheHomeOfAProfile(t *testing.T) {
	f := newFixture(t, "HERMES_HOME=/opt/data/profiles/office")
	f.write("opt/data/cron/x", "")
	r := f.boot()
	if len(r.Shortfalls) > 0 || r.Lease == nil || r.RootHome != "/opt/data" || r.Home != "/opt/data/profiles/office" {
		t.Errorf("%+v", r)
	}
	for file, want := range map[string][2]int{"": hermes, "/profiles": hermes, "/profiles/office/SOUL.md": hermes, "/cron/x": {0, 0}, "/" + lease.File: hermes} {
		if got := f.owner("opt/data" + file); got != want {
			t.Errorf("%q is %v's", file, got)
		}
	}
	f.Environ = nil
	if r := f.boot(); r.Lease != nil || r.Holder == nil {
		t.Error("the home of all profiles is supervised twice")
	}
}

func TestSkillsAreGivenOnce(t *testing.T) {
	f := newFixture(t)
	f.write("opt/hermes/skills/research/arxiv/SKILL.md", "arxiv")
	f.write("opt/hermes/skills/research/arxiv/scripts/run.sh", "#!/bin/sh\n")
	f.must(os.Chmod(f.at("opt/hermes/skills/research/arxiv/scripts/run.sh"), 0o755))
	f.write("opt/hermes/skills/notes/SKILL.md", "notes")
	f.write("opt/hermes/skills/old/SKILL.md", "old")
	f.write("opt/data/skills/.bundled_manifest", "old:0123abc") // removed by its owner
	r := f.boot()
	if len(r.Shortfalls) > 0 {
		t.Fatalf("%q", r.Shortfalls)
	}
	if f.read("opt/data/skills/research/arxiv/SKILL.md") != "arxiv" || f.owner("opt/data/skills/research/arxiv/scripts") != hermes ||
		f.mode("opt/data/skills/research/arxiv/scripts/run.sh")&0o100 == 0 || f.exists("opt/data/skills/old") {
		t.Error("other skills than the image's")
	}
	if got := f.read("opt/data/skills/.bundled_manifest"); got != "old:0123abc\nnotes\narxiv\n" {
		t.Errorf("the list is %q", got)
	}
	f.must(os.RemoveAll(f.at("opt/data/skills/notes")))
	f.write("opt/data/skills/research/arxiv/SKILL.md", "mine")
	f.again(r)
	if f.exists("opt/data/skills/notes") || f.read("opt/data/skills/research/arxiv/SKILL.md") != "mine" {
		t.Error("what its owner did was undone")
	}
}
