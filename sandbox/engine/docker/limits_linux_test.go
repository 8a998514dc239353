package docker_test

import (
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/client"

	"hermes.example/hermes/sandbox"
	"hermes.example/hermes/test/containers"
)

// telling is a client of the daemon, which tells something else of itself.
func telling(t *testing.T, api *client.Client, otherwise map[string]any) *client.Client {
	t.Helper()
	dial := api.Dialer()
	proxy := &httputil.ReverseProxy{
		Rewrite:   func(r *httputil.ProxyRequest) { r.Out.URL.Scheme, r.Out.URL.Host = "http", "daemon" },
		Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) { return dial(ctx) }},
		ModifyResponse: func(r *http.Response) error {
			if !strings.HasSuffix(r.Request.URL.Path, "/info") {
				return nil
			}
			var info map[string]any
			if err := json.NewDecoder(r.Body).Decode(&info); err != nil {
				return err
			}
			for name, value := range otherwise {
				info[name] = value
			}
			text, err := json.Marshal(info)
			r.Body, r.ContentLength = io.NopCloser(strings.NewReader(string(text))), int64(len(text))
			r.Header.Del("Content-Length")
			return err
		},
	}
	server := httptest.NewServer(proxy)
	t.Cleanup(server.Close)
	return containers.Connect(t, "tcp://"+strings.TrimPrefix(server.URL, "http://"))
}

// A machine that cannot limit one thing limits the others.
func TestD12OneLimitThatCannotBeTakesNoOther(t *testing.T) {
	api := containers.Docker(t)
	w := newWorkshop(t, api, telling(t, api, map[string]any{"CpuCfsQuota": false}))
	box, c := w.make("t", contract())
	if h := c.HostConfig; h.NanoCPUs != 0 || h.Memory != 5120<<20 || h.PidsLimit == nil || *h.PidsLimit != 256 {
		t.Errorf("its limits are %d, %d, %v", h.NanoCPUs, h.Memory, h.PidsLimit)
	}
	facts := w.facts(box)
	for name, enforced := range map[string]bool{sandbox.FactCPUs: false, sandbox.FactMemory: true, sandbox.FactPids: true} {
		if f := facts[name]; f.Enforced != enforced || (f.Deviation == "") != enforced {
			t.Errorf("%+v", f)
		}
	}
}

// A daemon that does not tell what it can do loses no limit by that.
func TestD12AQuestionThatFailsTurnsNoLimitOff(t *testing.T) {
	api := containers.Docker(t)
	p := containers.NewProxy(t, api)
	w := newWorkshop(t, api, p.Client())
	p.Inject(containers.Fault{On: "GET /info", Status: 500, Message: "spoilt"})
	box, c := w.make("t", contract())
	if h := c.HostConfig; h.NanoCPUs != 1e9 || h.Memory != 5120<<20 || h.PidsLimit == nil || *h.PidsLimit != 256 {
		t.Errorf("its limits are %d, %d, %v", h.NanoCPUs, h.Memory, h.PidsLimit)
	}
	p.Heal()
	facts := w.facts(box)
	for _, name := range []string{sandbox.FactCPUs, sandbox.FactMemory, sandbox.FactPids} {
		if f := facts[name]; !f.Enforced || f.Deviation != "" {
			t.Errorf("%+v", f)
		}
	}
}

// What somebody changed later shows.
func TestALimitThatWasRaisedIsADeviation(t *testing.T) {
	w := onDocker(t)
	box, c := w.make("t", contract())
	more := int64(999)
	if _, err := w.api.ContainerUpdate(t.Context(), c.ID, client.ContainerUpdateOptions{Resources: &container.Resources{PidsLimit: &more}}); err != nil {
		t.Fatal(err)
	}
	if f := w.facts(box)[sandbox.FactPids]; f.Value != "999" || !strings.Contains(f.Deviation, "256 was asked for") {
		t.Errorf("%+v", f)
	}
}

// requested counts the requests of one kind.
func requested(requests []string, kind string) int {
	return len(slices.DeleteFunc(slices.Clone(requests), func(r string) bool { return !strings.HasPrefix(r, kind) }))
}

// Whether a disk can be limited is asked by making the sandbox itself: nothing is
// fetched, and nothing else is made or run.
func TestD13TheDiskIsAskedForWithoutFetchingOrRunning(t *testing.T) {
	api := containers.Docker(t)
	p := containers.NewProxy(t, api)
	w := newWorkshop(t, api, p.Client())
	w.make("before", sandbox.Spec{}) // gives the daemon the guest, if it has to
	spec := sandbox.Spec{Limits: sandbox.Limits{Disk: 1 << 30}}
	creations := 2 // one is refused
	for _, task := range []string{"first", "second"} {
		began := len(p.Requests())
		box, c := w.make(task, spec)
		f := w.facts(box)[sandbox.FactDisk]
		if f.Enforced {
			creations = 1
		}
		if set := c.HostConfig.StorageOpt["size"] != ""; f.Enforced != set || set == (f.Deviation != "") || !set && !strings.Contains(f.Deviation, "1024 MiB was asked for; ") {
			t.Errorf("the daemon has %v, the posture %+v", c.HostConfig.StorageOpt, f)
		}
		requests := p.Requests()[began:]
		if requested(requests, "POST /images/") > 0 || requested(requests, "POST /containers/create") != creations || requested(requests, "DELETE ") > 0 {
			t.Errorf("%s: asked %q", task, requests)
		}
		creations = 1 // it is known by then
	}
}

// A creation that fails says nothing of the disk.
func TestD13AFailedCreationIsNoVerdict(t *testing.T) {
	api := containers.Docker(t)
	p := containers.NewProxy(t, api)
	w := newWorkshop(t, api, p.Client())
	w.make("before", sandbox.Spec{})
	spec := sandbox.Spec{Image: containers.Busybox.In(t, api), Limits: sandbox.Limits{Disk: 1 << 30}}
	p.Inject(containers.Fault{On: "POST /containers/create", Status: 500, Message: "no room for a quota", Times: 1})
	if _, err := w.manager.Ensure(t.Context(), w.id("t"), spec); err == nil || !strings.Contains(err.Error(), "no room for a quota") {
		t.Errorf("the error is %v", err)
	}
	box, _ := w.make("t", spec)
	if f := w.facts(box)[sandbox.FactDisk]; strings.Contains(f.Deviation, "no room for a quota") {
		t.Errorf("%+v", f)
	}
}

// Where files have quotas, the limit holds.
func TestADiskThatCanBeLimitedIs(t *testing.T) {
	api := containers.PrivateDocker(t, "--storage-driver", "btrfs", "--data-root", quotaDisk(t)).Client()
	w := newWorkshop(t, api, api)
	box, c := w.make("t", sandbox.Spec{Limits: sandbox.Limits{Disk: 20 << 20}})
	f := w.facts(box)[sandbox.FactDisk]
	if c.HostConfig.StorageOpt["size"] != "20971520" || !f.Enforced || f.Deviation != "" {
		t.Errorf("the daemon has %v, the posture %+v", c.HostConfig.StorageOpt, f)
	}
	if out, res := w.run(box, "dd if=/dev/zero of=/opt/fill bs=1M count=40"); res.Code == 0 {
		t.Errorf("more than the limit was written: %s", out)
	}
}

// quotaDisk is a directory on a file system with quotas for its parts.
func quotaDisk(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	image, at := filepath.Join(dir, "image"), filepath.Join(dir, "data")
	if err := os.Mkdir(at, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, command := range []string{"truncate -s 600M " + image, "mkfs.btrfs -q " + image, "mount -o loop " + image + " " + at} {
		words := strings.Fields(command)
		if out, err := exec.Command(words[0], words[1:]...).CombinedOutput(); err != nil {
			t.Skipf("no file system with quotas here: %s: %v %s", command, err, out)
		}
	}
	t.Cleanup(func() {
		if out, err := exec.Command("umount", at).CombinedOutput(); err != nil {
			t.Errorf("cannot unmount %s: %v %s", at, err, out)
		}
	})
	return at
}
