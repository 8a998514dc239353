package enginetest

import (
	"strings"
	"testing"

	"hermes.example/hermes/sandbox"
)

var userTests = []test{
	{"users/commands run as the asked user", runAsUser},
	{"users/an ordinary one has no capabilities", userHasNoCapabilities},
	{"users/a user that does not exist here is refused", userIsRefused},
	{"users/root of the sandbox can become others", rootBecomesOthers},
	{"users/what another user left running is ended too", otherUsersTree},
}

func runAsUser(t *testing.T, s *suite) {
	s.need(t, ManyIDs)
	for _, kind := range []func(*sandbox.Spec){func(*sandbox.Spec) {}, ephemeral} {
		b := s.box(t, kind, func(spec *sandbox.Spec) { spec.User = "1000:2000" })
		for _, p := range []place{b.place, b.session("s")} {
			p.says("id -u; id -g; id -G; echo $HOME", "1000\n2000\n2000\n/root")
			if s.isolated() { // others have names of their own
				p.says("echo $USER; whoami", "user\nuser")
			}
			p.says("echo mine >~/file && echo mine >/workspace/file && echo mine >/tmp/file-$$ && stat -c %u:%g ~/file", "1000:2000")
			p.line("echo x >/etc/x").ended(1, sandbox.Exited)
		}
	}
	s.box(t, func(spec *sandbox.Spec) { spec.User = "4321" }).says("id -u; id -g", "4321\n4321")
}

func userHasNoCapabilities(t *testing.T, s *suite) {
	s.need(t, ManyIDs)
	b := s.box(t, func(spec *sandbox.Spec) { spec.User = "1000" })
	for _, set := range []string{"CapPrm", "CapEff", "CapInh", "CapAmb"} {
		if got := strings.Trim(b.proc(set), "0"); got != "" {
			t.Errorf("%s is not empty: %s", set, got)
		}
	}
	if fact := b.facts()[sandbox.FactCapabilities]; fact.Value != "none" {
		t.Errorf("the posture says %+v", fact)
	}
	if o := b.line(asNobody + "true"); o.Code == 0 {
		t.Error("it can become another user")
	}
}

func userIsRefused(t *testing.T, s *suite) {
	_, single := s.config.Without[ManyIDs]
	if !single && (!s.isolated() || !s.can(OwnIDs)) {
		t.Skip("root can take any id where ids are the machine's own")
	}
	id := s.identity(t)
	user := "2000000000" // above every range that is given out
	if single {
		user = "1000"
	}
	want := []string{"there is no user " + user, "/etc/subuid"}
	if !s.isolated() {
		want = []string{"cannot run as user " + user, "only root"}
	}
	_, err := s.manager.Ensure(bounded(t), id, s.spec(func(spec *sandbox.Spec) { spec.User = user }))
	if err == nil || !strings.Contains(err.Error(), want[0]) || !strings.Contains(err.Error(), want[1]) {
		t.Errorf("the error is %v", err)
	}
	s.nothing(t, id)
}

func rootBecomesOthers(t *testing.T, s *suite) {
	b := s.box(t)
	if _, single := s.config.Without[ManyIDs]; single {
		if o := b.line(asNobody + "true"); o.Code == 0 {
			t.Error("it became a user that does not exist")
		}
		b.line("touch /tmp/x; chown 1000 /tmp/x").ended(1, sandbox.Exited)
		return
	}
	b.says(asNobody+"id -u", "65534")
	b.says("touch /tmp/x; chown 1000:2000 /tmp/x; stat -c %u:%g /tmp/x; chown 0:0 /tmp/x; rm /tmp/x", "1000:2000")
}

func otherUsersTree(t *testing.T, s *suite) {
	s.need(t, ManyIDs)
	b := s.box(t)
	b.interrupted(sandbox.Command{Line: asNobody + "sh -c 'trap \"\" TERM; (setsid sleep 300 &); (env -i sleep 301 &); echo go; while :; do sleep 302; done'", Grace: 1}).
		ended(130, sandbox.Interrupted)
	b.empties()
}
