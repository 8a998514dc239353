package boot

import (
	"context"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"golang.org/x/sys/unix"
)

// used is a machine whose volume was in use.
func used(t *testing.T, environ ...string) (*fixture, *Result) {
	t.Helper()
	f := newFixture(t, environ...)
	return f, f.boot()
}

func TestRootsFilesAreRepaired(t *testing.T) {
	f, r := used(t)
	files := []string{"profiles/x/SOUL.md", "profiles/x/deep/er/file", "cron/jobs.json", "pairing/x", "platforms/pairing/y"}
	for _, file := range single {
		if file != "logs/gateways" && file != "platforms" && file != ".env" && file != "config.yaml" {
			files = append(files, file)
		}
	}
	for _, file := range files {
		f.write("opt/data/"+file, "{}")
	}
	f.must(os.Symlink("/etc/passwd", f.at("opt/data/cron/link")))
	f.must(unix.Mkfifo(f.at("opt/data/cron/pipe"), 0o600))
	f.must(os.Chown(f.at("opt/data/logs/gateways"), 0, 0))
	f.must(os.Chown(f.at("opt/data/platforms"), 0, 0))
	f.must(os.Chown(f.at("opt/data/.env"), 0, 10000))
	r = f.again(r)
	for _, file := range append(files, "profiles/x", "cron/link", "cron/pipe", "logs/gateways", "platforms", ".env") {
		if got := f.owner("opt/data/" + file); got != hermes {
			t.Errorf("%s is %v's", file, got)
		}
	}
	if f.owner("etc/passwd") != [2]int{0, 0} || len(r.Shortfalls) > 0 {
		t.Errorf("beyond the link, %q", r.Shortfalls)
	}
}

// dying is a context that ends when it was asked so often.
type dying struct {
	context.Context
	left atomic.Int64
}

func (d *dying) Err() error {
	if d.left.Add(-1) < 0 {
		return context.Canceled
	}
	return nil
}

func TestWhatABootThatWasCutShortLeftIsRepairedByTheNext(t *testing.T) {
	f := newFixture(t)
	files := []string{"", "/cron", "/cron/a", "/workspace", "/workspace/deep", "/workspace/deep/b", "/home", "/home/c"}
	cut := 0
	for n := int64(1); ; n++ {
		f.must(os.RemoveAll(f.at("opt/data")))
		for _, file := range []string{"cron/a", "workspace/deep/b", "home/c"} {
			f.write("opt/data/"+file, "")
		}
		ctx := &dying{Context: t.Context()}
		ctx.left.Store(n)
		f.log.Reset()
		r, err := Run(ctx, f.Machine)
		if err == nil {
			r.Lease.Release()
			break
		}
		if f.owner("opt/data/cron") == hermes && f.owner("opt/data/home/c") != hermes {
			cut++
		}
		if log := f.log.String(); strings.Contains(log, "WARN") {
			t.Errorf("a boot that was ended complains:\n%s", log)
		}
		f.boot().Lease.Release()
		for _, file := range files {
			if got := f.owner("opt/data" + file); got != hermes {
				t.Fatalf("after an end at %d, %q is %v's", n, file, got)
			}
		}
	}
	if cut == 0 {
		t.Error("no boot was cut short while it gave files away")
	}
}

func TestTheUsersOwnFilesAreLeftAlone(t *testing.T) {
	f, r := used(t)
	others := []string{"host_secret.json", "mine/deep", "workspace/of-root", "logs/gateways/x", "skills/s"}
	for _, file := range others {
		f.write("opt/data/"+file, "")
	}
	r = f.again(r)
	for _, file := range others {
		if got := f.owner("opt/data/" + file); got != [2]int{0, 0} {
			t.Errorf("%s is %v's", file, got)
		}
	}
	// A volume that came with another owner is looked at as a whole, as far as it is ours.
	f.must(os.Chown(f.at("opt/data"), 77, 77))
	f.again(r)
	for _, file := range others {
		want := hermes
		if file == "host_secret.json" || file == "mine/deep" {
			want = [2]int{0, 0}
		}
		if got := f.owner("opt/data/" + file); got != want {
			t.Errorf("of a volume that came: %s is %v's", file, got)
		}
	}
	if f.owner("opt/data") != hermes {
		t.Error("the home is still another's")
	}
}

// TestLinksAreRefused puts a link in the place of each thing that the boot touches.
func TestLinksAreRefused(t *testing.T) {
	managed := slices.Concat(trees, single, seeded, []string{"SOUL.md", "gateway_state.json"})
	slices.Sort(managed)
	for _, file := range slices.Compact(managed) {
		for _, dangling := range []bool{false, true} {
			f := newFixture(t, "HERMES_GATEWAY_BOOTSTRAP_STATE=running", "HERMES_AUTH_JSON_BOOTSTRAP={}")
			f.write("outside/file/below", "root's")
			f.write("outside/text", "API_SERVER_KEY=\n")
			target := f.at("outside/file")
			if strings.Contains(path.Base(file), ".") {
				target = f.at("outside/text")
			}
			if dangling {
				target = f.at("outside/new")
			}
			f.must(os.MkdirAll(filepath.Dir(f.at("opt/data/"+file)), 0o755))
			f.must(os.Symlink(target, f.at("opt/data/"+file)))
			before := moments(t, f.at("outside"))
			f.boot()
			if after := moments(t, f.at("outside")); len(after) != len(before) {
				t.Errorf("%s: something was made outside", file)
			}
			for outside, at := range before {
				if changeTime(t, outside) != at {
					t.Errorf("%s: %s was changed", file, outside)
				}
			}
			if !f.refused("/opt/data/" + file) {
				t.Errorf("%s: nothing was refused aloud: %s", file, f.log.String())
			}
		}
	}
}

func TestALinkAboveWhatIsManaged(t *testing.T) {
	f := newFixture(t)
	f.write("outside/pairing/x", "root's")
	f.write("outside/gateways/x", "root's")
	f.must(os.Symlink("../../outside", f.at("opt/data/platforms")))
	f.must(os.Symlink(f.at("outside"), f.at("opt/data/logs")))
	f.boot()
	for _, file := range []string{"outside", "outside/pairing", "outside/pairing/x", "outside/gateways", "outside/gateways/x"} {
		if f.owner(file) != [2]int{0, 0} {
			t.Errorf("%s was given away", file)
		}
	}
	if !f.refused("/opt/data/platforms/pairing") || !f.refused("/opt/data/logs") {
		t.Errorf("nothing was refused aloud: %s", f.log.String())
	}
}

func TestALinkInThePlaceOfTheHome(t *testing.T) {
	f := newFixture(t)
	f.write("elsewhere/cron/x", "root's")
	f.must(os.Remove(f.at("opt/data")))
	f.must(os.Symlink("/elsewhere", f.at("opt/data")))
	r := f.boot()
	if f.owner("elsewhere") != [2]int{0, 0} || f.owner("elsewhere/cron/x") != [2]int{0, 0} || f.exists("elsewhere/logs") {
		t.Error("it was followed")
	}
	if !f.refused("/opt/data") || r.Lease != nil || r.Holder != nil || r.Home != "/opt/data" {
		t.Errorf("%+v\n%s", r, f.log.String())
	}
}

func TestLinksOnTheWayToTheHome(t *testing.T) {
	f := newFixture(t, "HERMES_HOME=/srv/data")
	f.must(os.MkdirAll(f.at("mnt/disk"), 0o755))
	f.must(os.Symlink("../mnt/disk", f.at("srv")))
	if f.boot(); f.owner("mnt/disk/data") != hermes {
		t.Error("root's own link was not followed")
	}

	f = newFixture(t, "HERMES_HOME=/home/u/x/data")
	f.must(os.MkdirAll(f.at("home/u"), 0o755))
	f.must(os.Chown(f.at("home/u"), 10000, 10000))
	f.must(os.MkdirAll(f.at("etc/data"), 0o755))
	f.must(os.Symlink("/etc", f.at("home/u/x")))
	if _, err := f.try(); err == nil || !strings.Contains(err.Error(), "refusing to follow") || f.owner("etc/data") != [2]int{0, 0} {
		t.Errorf("a user's link was followed: %v", err)
	}

	f = newFixture(t, "HERMES_HOME=/srv/data")
	f.must(os.Symlink("/etc", f.at("srv")))
	if _, err := f.try(); err == nil || !strings.Contains(err.Error(), "the system's") || f.exists("etc/data/logs") {
		t.Errorf("a link made a home of /etc: %v", err)
	}

	f = newFixture(t, "HERMES_HOME=/srv/data")
	f.must(os.Symlink("/srv/x", f.at("srv")))
	if _, err := f.try(); err == nil {
		t.Error("a link to itself is a home")
	}
}

func TestFilesWithSeveralNamesAreLeft(t *testing.T) {
	f, r := used(t)
	f.write("etc/secret", "root's")
	f.must(os.Link(f.at("etc/secret"), f.at("opt/data/cron/mine")))
	f.must(os.Link(f.at("etc/secret"), f.at("opt/data/auth.json")))
	f.write("opt/data/cron/single", "")
	r = f.again(r)
	if f.owner("etc/secret") != [2]int{0, 0} {
		t.Error("a foreign file was given away through another name of it")
	}
	if f.owner("opt/data/cron/single") != hermes {
		t.Error("the others were not repaired")
	}
	if len(r.Shortfalls) != 1 || !strings.Contains(r.Shortfalls[0], "cannot give 2 files") || !strings.Contains(r.Shortfalls[0], "several names") {
		t.Errorf("%q", r.Shortfalls)
	}
}

func TestDevicesAreLeft(t *testing.T) {
	f, r := used(t)
	if err := unix.Mknod(f.at("opt/data/cron/null"), unix.S_IFCHR|0o600, int(unix.Mkdev(1, 3))); err != nil {
		t.Skipf("cannot make a device: %v", err)
	}
	if r = f.again(r); f.owner("opt/data/cron/null") != [2]int{0, 0} || len(r.Shortfalls) != 1 {
		t.Errorf("a device was given away; %q", r.Shortfalls)
	}
}

func TestTreesThatAreTooDeep(t *testing.T) {
	f, r := used(t)
	deep := "opt/data/cron" + strings.Repeat("/d", deepest+10)
	f.write(deep+"/x", "")
	r = f.again(r)
	if len(r.Shortfalls) != 1 || !strings.Contains(r.Shortfalls[0], "too deep") {
		t.Errorf("%q", r.Shortfalls)
	}
	if f.owner("opt/data/cron"+strings.Repeat("/d", deepest)) != hermes || f.owner(deep) != [2]int{0, 0} {
		t.Error("it was not repaired just as far as it goes")
	}
}

// TestSwappingDirectoriesForLinks repairs a tree in which somebody goes on putting links to foreign directories in
// the place of his own.
func TestSwappingDirectoriesForLinks(t *testing.T) {
	for what, c := range map[string]struct{ directory, link string }{
		"below the tree": {"opt/data/cron/a", "opt/data/cron/b"},
		"the tree":       {"opt/data/cron", "opt/data/other"},
	} {
		t.Run(what, func(t *testing.T) {
			f, r := used(t)
			r.Lease.Release()
			f.write("outside/d/e/secret", "root's")
			f.write("outside/secret", "root's")
			f.write(c.directory+"/d/e/secret", "")
			f.must(os.Symlink(f.at("outside"), f.at(c.link)))
			swaps, stop := f.swap(f.at(c.directory), f.at(c.link))

			b := &boot{Machine: f.Machine, result: Result{Root: true}}
			f.must(identity(t.Context(), b))
			f.must(home(t.Context(), b))
			defer b.close()
			g := &giving{gid: 10000}
			enough := func() bool { return swaps.Load() > 2000 && g.changed.Load() > 2000 }
			for round := 0; round < 2000 || !enough() && round < 1000000; round++ {
				g.uid = 10000 + round%2 // always something to do
				if err := g.tree(t.Context(), b.home, "cron"); err != nil && !strings.Contains(err.Error(), "refusing") {
					t.Fatal(err)
				}
			}
			stop()
			for _, file := range []string{"outside", "outside/secret", "outside/d", "outside/d/e", "outside/d/e/secret"} {
				if got := f.owner(file); got != [2]int{0, 0} {
					t.Errorf("%s was given to %v", file, got)
				}
			}
			if !enough() {
				t.Errorf("%d swaps and %d files given: nothing was tried", swaps.Load(), g.changed.Load())
			}
		})
	}
}

// swap goes on exchanging two names until it is stopped.
func (f *fixture) swap(a, b string) (swaps *atomic.Int64, stop func()) {
	ended := make(chan struct{})
	var swapping sync.WaitGroup
	swaps = new(atomic.Int64)
	swapping.Go(func() {
		for {
			select {
			case <-ended:
				return
			default:
			}
			if err := unix.Renameat2(unix.AT_FDCWD, a, unix.AT_FDCWD, b, unix.RENAME_EXCHANGE); err != nil {
				f.t.Error(err)
				return
			}
			swaps.Add(1)
		}
	})
	return swaps, func() { close(ended); swapping.Wait() }
}

func TestAWalkSeesEveryFile(t *testing.T) {
	f, r := used(t)
	for i := range 40 {
		for j := range 40 {
			f.write("opt/data/profiles/"+strconv.Itoa(i)+"/"+strconv.Itoa(j)+"/file", "")
		}
	}
	f.again(r)
	for i := range 40 {
		for j := range 40 {
			file := "opt/data/profiles/" + strconv.Itoa(i) + "/" + strconv.Itoa(j)
			if f.owner(file) != hermes || f.owner(file+"/file") != hermes {
				t.Fatalf("%s was missed", file)
			}
		}
	}
}
