package pep508

import (
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"
)

// The meaning of versions: on thousands of pairs we say what Python says. Older libraries of
// Python's have faults of their own in rare spellings, and are asked about the plain ones only.
func TestSpecifiersMeanWhatPythonMeans(t *testing.T) {
	t.Run("plain", func(t *testing.T) { comparePairs(t, newJudge(t), newSource(t, true)) })
	t.Run("all spellings", func(t *testing.T) {
		j := newJudge(t)
		if !j.has(t, "packaging>=26.3") {
			t.Skipf("Python's packaging is %s, and not as right as 26.3", j.version)
		}
		comparePairs(t, j, newSource(t, false))
	})
}

func comparePairs(t *testing.T, j *judge, s source) {
	t.Logf("packaging %s", j.version)
	counts := map[bool]int{}
	for range 1500 {
		text := "x" + s.specifiers()
		versions := s.versionsNear(text)
		python, taken := j.ask(t, text, versions...)
		ours, err := Parse(text)
		legacy := taken && j.has(t, "packaging<22") // those take what is no version
		if taken != (err == nil) && !legacy {
			t.Errorf("%q: Python takes it: %v, and we say %v", text, taken, err)
		}
		if err != nil || !taken {
			continue
		}
		for i, version := range versions {
			accepted, err := ours.Accepts(version)
			if (err == nil) != (python[i] != nil) {
				t.Errorf("Python knows the version %q: %v, and we say %v", version, python[i] != nil, err)
			} else if err == nil && accepted != *python[i] {
				t.Errorf("%s accepts %s: %v, for Python %v", ours, version, accepted, *python[i])
			}
			counts[accepted]++
		}
	}
	if counts[true] < 1000 || counts[false] < 1000 {
		t.Errorf("these pairs show little: %v", counts)
	}
}

// has says whether the library is one that the requirement accepts.
func (j *judge) has(t testing.TB, requirement string) bool {
	t.Helper()
	r, err := Parse(requirement)
	if err != nil {
		t.Fatal(err)
	}
	accepted, err := r.Accepts(j.version)
	return accepted && err == nil
}

// source makes specifiers and versions of few numbers, so that they often meet.
type source struct {
	*rand.Rand
	plain bool
}

// newSource prints its seed and takes it back from HERMES_SEED.
func newSource(t *testing.T, plain bool) source {
	seed := uint64(time.Now().UnixNano())
	if text := os.Getenv("HERMES_SEED"); text != "" {
		var err error
		if seed, err = strconv.ParseUint(text, 10, 64); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("HERMES_SEED=%d", seed)
	return source{rand.New(rand.NewPCG(seed, 0)), plain}
}

func (s source) pick(from ...string) string { return from[s.IntN(len(from))] }

// maybe is one of these in one of so many cases, and else nothing.
func (s source) maybe(oneIn int, from ...string) string {
	if s.IntN(oneIn) > 0 {
		return ""
	}
	return s.pick(from...)
}

func (s source) specifiers() string {
	var all []string
	for range 1 + s.IntN(2) {
		operator := s.pick("==", "!=", "<", ">", "<=", ">=", "~=", "===")
		version := s.version()
		if s.plain && operator != "==" && operator != "!=" {
			version = s.release()
		}
		if operator != "===" { // after it Python takes anything, and we do not
			version += s.maybe(5, ".*")
		}
		all = append(all, operator+version)
	}
	return strings.Join(all, ",")
}

func (s source) release() string {
	release := s.pick("0", "1", "2", "10")
	for range s.IntN(3) {
		release += "." + s.pick("0", "1", "1", "2")
	}
	return release
}

func (s source) version() string {
	if s.plain {
		return s.release() + s.maybe(2, "a1", "b2", "rc1", ".post1", ".dev1") + s.maybe(5, "+1", "+a", "+1.a")
	}
	release := s.maybe(8, "v", "V") + s.maybe(4, "0!", "1!") + s.release() + s.maybe(8, ".01", ".20240101123456789012345")
	separator := func() string { return s.pick("", "", ".", "-", "_") }
	pre := s.maybe(3, "a", "b", "c", "rc", "alpha", "beta", "pre", "preview", "RC")
	if pre != "" {
		pre = separator() + pre + separator() + s.pick("", "0", "1", "2")
	}
	post := s.maybe(3, "post", "rev", "r", "Post")
	if post != "" {
		post = separator() + post + separator() + s.pick("", "0", "1", "2")
	} else {
		post = s.maybe(8, "-1", "-2")
	}
	dev := s.maybe(3, "dev")
	if dev != "" {
		dev = separator() + dev + separator() + s.pick("", "0", "1")
	}
	return release + pre + post + dev + s.maybe(5, "+1", "+a", "+1.a", "+A-2", "+01")
}

// versionsNear are some at random, and that of a requirement, as it is and with something more.
func (s source) versionsNear(requirement string) []string {
	first, _, _ := strings.Cut(strings.TrimLeft(requirement, "x<>=!~"), ",")
	first = strings.TrimSuffix(first, ".*")
	public, _, _ := strings.Cut(first, "+")
	near := []string{public, public + "+1", public + ".dev1", public + ".post1", public + "a1", public + ".0", public + ".1", "nonsense"}
	if !s.plain {
		near = append(near, first, public+".post2+a", public+"rc1.dev0")
	}
	for range 4 {
		near = append(near, s.version())
	}
	return near
}
