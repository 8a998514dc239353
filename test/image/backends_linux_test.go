package image

import (
	"encoding/json"
	"strconv"
	"strings"
	"testing"

	"hermes.example/hermes/test/wheels"
)

// On an empty volume a call installs, starts and answers, as the service user, and the next one is warm. The process
// that keeps the backend is nobody's child: PID 1 reaps it, and the end of the container does not wait for it.
func TestABackendIsCalledAtItsFirstUse(t *testing.T) {
	const name = "mcp.time"
	server := wheels.Server("mcp-server-time", "2026.10.10")
	index := wheels.Serve(t, server)
	e := shipping(dockerd(t), name, server)
	c := e.idle(opts("--network host -e UV_HTTP_RETRIES=0 -e UV_DEFAULT_INDEX=" + index.URL + " -e EXA_API_KEY=of-another -v " + e.volume("") + ":/opt/data")...)
	tell := func() (pid int) {
		t.Helper()
		r := c.exec("", "hermes", "addon", "call", "--json", name, "tell")
		says(t, r)
		var answer struct {
			Structured struct {
				PID         int
				Environment []string
			}
		}
		if err := json.Unmarshal([]byte(r.stdout), &answer); err != nil {
			t.Fatalf("%v: %s", err, r)
		}
		if strings.Contains(strings.Join(answer.Structured.Environment, " "), "EXA") {
			t.Errorf("it has %q", answer.Structured.Environment)
		}
		return answer.Structured.PID
	}
	first := tell()
	if second := tell(); second != first {
		t.Errorf("process %d answers first, and then %d", first, second)
	}
	if hits := index.Hits(server.FileName()); hits != 1 {
		t.Errorf("it was fetched %d times", hits)
	}
	var status struct{ Keeper struct{ PID int } }
	if err := json.Unmarshal([]byte(c.do(service, "hermes", "addon", "status", "--json")), &status); err != nil || status.Keeper.PID == 0 {
		t.Fatalf("%+v, %v", status, err)
	}
	for _, pid := range []int{first, status.Keeper.PID} {
		if uid := c.do("", "sh", "-c", "awk '/^Uid:/{print $2}' /proc/"+strconv.Itoa(pid)+"/status"); strings.TrimSpace(uid) != "10000" {
			t.Errorf("process %d runs as %s", pid, uid)
		}
	}
	c.do("", "kill", "-9", strconv.Itoa(status.Keeper.PID))
	c.eventually("the keeper and its backend are gone", func() bool {
		return c.exec("", "sh", "-c", "test ! -e /proc/"+strconv.Itoa(status.Keeper.PID)+" && test ! -e /proc/"+strconv.Itoa(first)).code == 0
	})
	if third := tell(); third == first {
		t.Error("what was killed answers")
	}
	if code, took := c.stop(); code != "143" && code != "0" || took.Seconds() > 8 {
		t.Errorf("the container ended with %s after %v", code, took)
	}
}
