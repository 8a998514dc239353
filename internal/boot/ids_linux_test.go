package boot

import (
	"net"
	"os"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

func TestIDsAreRemapped(t *testing.T) {
	for what, c := range map[string]struct {
		environ []string
		want    [2]int
	}{
		"not at all":             {nil, hermes},
		"by the aliases":         {[]string{"PUID=1000", "PGID=1000"}, [2]int{1000, 1000}},
		"a NAS":                  {[]string{"PUID=99", "PGID=100"}, [2]int{99, 100}},
		"the names win":          {[]string{"HERMES_UID=11001", "PUID=1", "PGID=20"}, [2]int{11001, 20}},
		"an empty one does not":  {[]string{"HERMES_UID=", "PUID=5"}, [2]int{5, 10000}},
		"nor is an alias a try":  {[]string{"HERMES_UID=x", "PUID=5"}, hermes},
		"root":                   {[]string{"PUID=0", "PGID=0"}, hermes},
		"the largest":            {[]string{"PUID=65534", "PGID=65534"}, [2]int{65534, 65534}},
		"too large":              {[]string{"PUID=65535", "PGID=99999999999999999999"}, hermes},
		"negative and signed":    {[]string{"PUID=-1", "PGID=+5"}, hermes},
		"with spaces and others": {[]string{"PUID= 5", "PGID=0x5"}, hermes},
		"other digits":           {[]string{"PUID=٥", "PGID=1_0"}, hermes},
	} {
		t.Run(what, func(t *testing.T) {
			f := newFixture(t, c.environ...)
			r := f.boot()
			if got := [2]int{r.User.UID, r.User.GID}; got != c.want {
				t.Errorf("the user is %v, want %v", got, c.want)
			}
			if got := f.owner("opt/data"); got != c.want {
				t.Errorf("the home is %v's", got)
			}
			if got := f.owner("opt/data/skills"); got != c.want {
				t.Errorf("skills is %v's", got)
			}
			if len(r.Shortfalls) > 0 {
				t.Errorf("shortfalls: %q", r.Shortfalls)
			}
		})
	}
}

func TestRemapKeepsEveryOtherLine(t *testing.T) {
	f := newFixture(t, "PUID=1000", "PGID=20")
	f.boot()
	if got := f.read("etc/passwd"); got != "root:x:0:0:root:/root:/bin/bash\nnode:x:1000:1000::/home/node:/bin/sh\nhermes:x:1000:20::/opt/data:/bin/bash\n" {
		t.Errorf("passwd is %q", got)
	}
	if got := f.read("etc/group"); got != "root:x:0:\ndialout:x:20:\nvideo:x:44:\nusers:x:100:\nhermes:x:20:\n" {
		t.Errorf("group is %q", got)
	}
	if !strings.Contains(f.log.String(), "shares its id") {
		t.Errorf("the collision is not said: %s", f.log.String())
	}
}

func TestTwoBootsWithOneRemap(t *testing.T) {
	f := newFixture(t, "HERMES_UID=11001", "HERMES_GID=11001")
	first := f.boot()
	passwd := f.read("etc/passwd")
	if r := f.again(first); r.User.UID != 11001 || len(r.Shortfalls) > 0 {
		t.Errorf("%+v %q", r.User, r.Shortfalls)
	}
	if f.read("etc/passwd") != passwd {
		t.Error("the second boot changed it again")
	}
}

func TestARemapOfAUsedVolumeTakesItsFilesAlong(t *testing.T) {
	f := newFixture(t)
	r := f.boot()
	f.Environ = []string{"PUID=1234", "PGID=1234"}
	f.again(r)
	for _, file := range []string{"opt/data", "opt/data/skills", "opt/data/.env", "opt/data/config.yaml", "opt/data/logs/gateways", "tmp/hermes-files"} {
		if got := f.owner(file); got != [2]int{1234, 1234} {
			t.Errorf("%s is %v's", file, got)
		}
	}
}

// graphics makes a device node of a group.
func (f *fixture) graphics(name string, gid int) {
	f.t.Helper()
	f.must(os.MkdirAll(f.at("dev/dri"), 0o755))
	if err := unix.Mknod(f.at("dev/dri/"+name), unix.S_IFCHR|0o660, int(unix.Mkdev(1, 3))); err != nil {
		f.t.Skipf("cannot make a device: %v", err)
	}
	f.must(os.Chown(f.at("dev/dri/"+name), 0, gid))
}

func TestTheGroupOfADeviceIsJoinedOnce(t *testing.T) {
	f := newFixture(t)
	f.graphics("renderD128", 64000)
	r := f.boot()
	if !slices.Equal(r.User.Groups, []int{64000}) || !strings.Contains(f.log.String(), "Added") {
		t.Errorf("groups %v: %s", r.User.Groups, f.log.String())
	}
	group := f.read("etc/group")
	if r = f.again(r); !slices.Equal(r.User.Groups, []int{64000}) || strings.Contains(f.log.String(), "Added") || f.read("etc/group") != group {
		t.Errorf("the second time: %v %s", r.User.Groups, f.log.String())
	}
}

func TestTheNamedGroupOfADevice(t *testing.T) {
	f := newFixture(t)
	f.graphics("card0", 44)
	if r := f.boot(); !slices.Equal(r.User.Groups, []int{44}) || strings.Count(f.read("etc/group"), ":44:") != 1 {
		t.Errorf("groups %v of %q", r.User.Groups, f.read("etc/group"))
	}
}

func TestRootsGroupIsNotJoinedForADevice(t *testing.T) {
	f := newFixture(t)
	f.graphics("card0", 0)
	f.write("dev/dri/by-path", "no device")
	f.must(os.Chown(f.at("dev/dri/by-path"), 0, 77))
	if r := f.boot(); len(r.User.Groups) > 0 {
		t.Errorf("groups %v", r.User.Groups)
	}
}

func TestTheGroupOfTheDockerSocket(t *testing.T) {
	for what, c := range map[string]struct {
		path string
		gid  int
		want string
	}{
		"without a name": {"run/docker.sock", 991, "hostdocker:x:991:hermes\n"},
		"with a name":    {"run/docker.sock", 20, "dialout:x:20:hermes\n"},
		"root's":         {"run/docker.sock", 0, "root:x:0:hermes\n"},
	} {
		t.Run(what, func(t *testing.T) {
			f := newFixture(t)
			socket, err := net.Listen("unix", f.at(c.path))
			f.must(err)
			defer socket.Close()
			f.must(os.Chown(f.at(c.path), 0, c.gid))
			if r := f.boot(); !slices.Equal(r.User.Groups, []int{c.gid}) || !strings.Contains(f.read("etc/group"), c.want) {
				t.Errorf("groups %v of %q", r.User.Groups, f.read("etc/group"))
			}
		})
	}
	t.Run("not a socket", func(t *testing.T) {
		f := newFixture(t)
		f.write("run/docker.sock", "")
		f.must(os.Chown(f.at("run/docker.sock"), 0, 991))
		if r := f.boot(); len(r.User.Groups) > 0 {
			t.Errorf("groups %v", r.User.Groups)
		}
	})
}

func TestNobodyIsTheServiceUser(t *testing.T) {
	f := newFixture(t)
	f.write("etc/passwd", "root:x:0:0:root:/root:/bin/bash\n")
	if _, err := f.try(); err == nil || !strings.Contains(err.Error(), `boot stopped at "identity"`) {
		t.Errorf("the error is %v", err)
	}
}
