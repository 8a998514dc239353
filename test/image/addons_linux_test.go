package image

import (
	"encoding/base64"
	"fmt"
	"strings"
	"testing"

	"hermes.example/hermes/internal/addon/feature"
	"hermes.example/hermes/internal/addon/lock"
	"hermes.example/hermes/test/wheels"
)

// backend is a feature that is installed in these tests: a real name, and a wheel of ours in the place of the real ones.
const backend = "search.exa"

var backendWheel = wheels.Wheel{Name: "exa-py", Version: "2.10.2", Files: map[string]string{"exa_py/__init__.py": "answer = 42\n"}}

// tag is what the image's interpreter calls the ABI of its extension modules, in the words of a shell.
const tag = `cpython-311-$(uname -m)-linux-gnu`

// shipping is the image with a lock of a feature that names our wheel.
func shipping(e *engine, name string, wheel wheels.Wheel) *engine {
	e.t.Helper()
	f, known := feature.Find(name)
	if !known || f.Specs[0] != wheel.Name+"=="+wheel.Version {
		e.t.Fatalf("the feature is %+v", f)
	}
	text := lock.Lock{
		Feature: name, Tag: "TAG", Kind: lock.Shipped, Specs: lock.Digest(f.Specs),
		Packages: []lock.Package{{Name: wheel.Name, Version: wheel.Version, Hashes: []string{wheel.Hash()}}},
	}.Format()
	return e.derive(fmt.Sprintf("RUN echo %s | base64 -d | sed s/TAG/%s/ >/opt/hermes/.venv/locks/%[2]s/%s.txt", base64.StdEncoding.EncodeToString(text), tag, name))
}

// anotherABI makes the interpreter one whose extension modules have another suffix, as a new version of Python has: in the
// program itself, in what it knows of itself, in the names of all modules, and in what describes the runtime.
const anotherABI = `RUN old=` + tag + `; new=cpython-31x-$(uname -m)-linux-gnu; \
 sed -i "s/$old/$new/g" /usr/bin/python3.11 /usr/lib/python3.11/_sysconfigdata_*.py /opt/hermes/.venv/hermes-runtime.json && \
 find /usr/lib/python3.11 /opt/hermes/.venv -name "*.$old.so" | while read -r f; do mv "$f" "${f%.$old.so}.$new.so"; done && \
 cp -a /opt/hermes/.venv/locks/$old /opt/hermes/.venv/locks/$new && sed -i "s/$old/$new/" /opt/hermes/.venv/locks/$new/*.txt`

// core changes with every name, mode, owner, time, link and content of the sealed tree.
const core = `cd /opt/hermes && { find . -printf '%p %m %U:%G %s %T@ %l\n' | sort; find . -type f -print0 | sort -z | xargs -0 sha256sum; } | sha256sum`

const answer = "import exa_py; print(exa_py.answer)"

// A feature is installed when it is first needed, by the service user, onto the volume; it outlives its container; another
// interpreter gets it anew; and nothing of all that changes the core.
func TestAnAddOnsRoundTrip(t *testing.T) {
	first := shipping(dockerd(t), backend, backendWheel)
	index := wheels.Serve(t, backendWheel, wheels.Wheel{Name: "stranger", Version: "1.0", Files: map[string]string{"stranger.py": ""}})
	options := opts("--network host -e UV_HTTP_RETRIES=0 -e UV_DEFAULT_INDEX=" + index.URL + " -v " + first.volume("") + ":/opt/data")

	c := first.idle(options...)
	sealed := c.do("", "sh", "-c", core)
	if r := c.exec(service, "python3", "-c", answer); r.code == 0 {
		t.Fatalf("it is there before it is installed: %s", r)
	}
	says(t, c.exec(service, "hermes", "addon", "ensure", backend))
	uses := func(what string, c *container) {
		t.Helper()
		for _, user := range []string{service, ""} { // root's own programs use no store that others can write
			want := "42"
			if user == "" {
				want = ""
			}
			if got := strings.TrimSpace(c.exec(user, "python3", "-c", answer).stdout); got != want {
				t.Errorf("%s, as %q: it answers %q", what, user, got)
			}
		}
	}
	uses("installed", c)
	asked := index.Hits(backendWheel.FileName())
	if asked != 1 {
		t.Errorf("the wheel was fetched %d times", asked)
	}
	if got := c.owners("lazy-packages", "lazy-packages/.hermes"); got != "hermes:hermes hermes:hermes" {
		t.Errorf("the store is %s", got)
	}
	t.Run("the core stays as it is", func(t *testing.T) {
		for _, file := range []string{"/opt/hermes/x", "/opt/hermes/.venv/x", "/opt/hermes/.venv/lib/python3.11/site-packages/exa_py.py", "/opt/hermes/.venv/locks/x"} {
			if r := c.exec(service, "touch", file); r.code == 0 || !strings.Contains(r.stderr, "ermission denied") {
				t.Errorf("%s: %s", file, r)
			}
		}
		if r := c.exec(service, "pip", "install", "--quiet", "--no-deps", "--index-url", index.URL, "stranger"); r.code == 0 {
			t.Errorf("pip wrote to the core: %s", r)
		}
		if now := c.do("", "sh", "-c", core); now != sealed {
			t.Errorf("the sealed tree was %s and is %s", sealed, now)
		}
	})

	first.remove(c.name)
	c = first.idle(opts("--network none -v " + strings.TrimSuffix(options[len(options)-1], ":/opt/data") + ":/opt/data")...)
	uses("in a new container, without a network", c)
	says(t, c.exec(service, "hermes", "addon", "ensure", "--offline", backend))

	first.remove(c.name)
	c = first.derive(anotherABI).idle(options...)
	sealed = c.do("", "sh", "-c", core)
	if r := c.exec(service, "python3", "-c", answer); r.code == 0 {
		t.Errorf("another interpreter uses what was not made for it: %s", r)
	}
	says(t, c.exec(service, "hermes", "addon", "rebuild"))
	uses("for another interpreter", c)
	if now := c.do("", "sh", "-c", core); now != sealed {
		t.Errorf("the sealed tree was %s and is %s", sealed, now)
	}

	first.remove(c.name)
	c = first.idle(options...)
	uses("with the old interpreter again", c)
	says(t, c.exec(service, "hermes", "addon", "verify"))
	if now := index.Hits(backendWheel.FileName()); now != asked {
		t.Errorf("the wheel was fetched %d times more: the volume has it", now-asked)
	}
}
