package mcp

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// A client says which task it works in by the address that it comes to.
func TestAClientNamesItsTask(t *testing.T) {
	w := newWorld(t, func(o *Options) { o.AnyTask = true })
	url := w.overHTTP()
	review, again, usual := w.connectHTTP(url+"?task=re%20view", nil), w.connectHTTP(url+"?task=re%20view", nil), w.connectHTTP(url, nil)
	review.run("echo mine >/workspace/said; cd /tmp")
	if got := again.run("cat /workspace/said; pwd"); got != "mine\n/workspace" {
		t.Errorf("another client of the task reads %q", got)
	}
	if got := usual.run("cat /workspace/said 2>/dev/null || echo nothing"); got != "nothing" {
		t.Errorf("a client that names no task reads %q", got)
	}
	tasks := map[string]bool{}
	infos, err := w.boxes.Manager().List(t.Context(), w.boxes.Home())
	if err != nil {
		t.Fatal(err)
	}
	for _, info := range infos {
		tasks[info.Identity.Task] = true
	}
	if len(tasks) != 2 || !tasks["re view"] || !tasks["model"] {
		t.Errorf("there are sandboxes of %v", tasks)
	}
	// A session stays where it began.
	list := `{"jsonrpc":"2.0","id":2,"method":"tools/list"}`
	for query, want := range map[string]int{"?task=other": 404, "?task=model": 404, "?task=re%20view": 200, "": 200} {
		if status, text, _ := post(t, url+query, review.ID(), list); status != want {
			t.Errorf("a session of another task at %q: %d %.200s", query, status, text)
		}
	}
	if got := review.run("pwd"); got != "/tmp" {
		t.Errorf("the session was moved to %q", got)
	}
}

func TestWhatIsNoTaskIsRefused(t *testing.T) {
	w := newWorld(t, func(o *Options) { o.AnyTask = true })
	url := w.overHTTP()
	for query, why := range map[string]string{
		"?task=a&task=b": "more than one task",
		"?task=%zz":      "cannot be read",
		"?task=a%00b":    "not text",
		"?task=%ff":      "not text",
		"?task=a;b":      "cannot be read",
	} {
		if status, text, header := post(t, url+query, "", initialize); status != 400 || !strings.Contains(text, why) || header.Get("Mcp-Session-Id") != "" {
			t.Errorf("%s: %d %.200s", query, status, text)
		}
	}
	if status, _, header := post(t, url+"?task=", "", initialize); status != 200 || header.Get("Mcp-Session-Id") == "" {
		t.Errorf("an empty one is none: %d", status)
	}
}

// Who serves one task serves no other.
func TestADoorOfOneTaskServesNoOther(t *testing.T) {
	w := newWorld(t, nil)
	url := w.overHTTP()
	if status, text, _ := post(t, url+"?task=other", "", initialize); status != 400 || !strings.Contains(text, "work in the task") {
		t.Errorf("another one: %d %s", status, text)
	}
	if status, text, _ := post(t, url+"?task=model", "", initialize); status != 200 {
		t.Errorf("its own: %d %s", status, text)
	}
}

// A client whose request is over before its call has begun is as absent as one that leaves during the call.
func TestACallThatBeginsAfterItsRequestIsAbandonedToo(t *testing.T) {
	w := newWorld(t, func(o *Options) { o.abandon = 300 * time.Millisecond })
	url := w.overHTTP()
	if status, text, _ := post(t, url, "", initialize); status != 200 {
		t.Fatal(text)
	}
	_, ctx, leave, err := w.door.enter(t.Context(), w.door.everySession()[0]) // no request of it is open
	if err != nil {
		t.Fatal(err)
	}
	defer leave()
	select {
	case <-ctx.Done():
	case <-time.After(10 * time.Second):
		t.Error("the call goes on without anybody")
	}
}

// All who come at once are not more than there may be.
func TestClientsThatComeAtOnceAreCounted(t *testing.T) {
	w := newWorld(t, nil)
	url := w.overHTTP()
	var in, refused atomic.Int64
	var coming sync.WaitGroup
	start := make(chan struct{})
	for range mostSessions + 64 {
		coming.Go(func() {
			<-start
			request, _ := http.NewRequestWithContext(t.Context(), "POST", url, strings.NewReader(initialize))
			request.Header.Set("Content-Type", "application/json")
			request.Header.Set("Accept", "application/json, text/event-stream")
			response, err := http.DefaultClient.Do(request)
			if err != nil {
				t.Error(err)
				return
			}
			defer response.Body.Close()
			buffer := make([]byte, 4096)
			n, _ := response.Body.Read(buffer)
			switch text := string(buffer[:n]); {
			case strings.Contains(text, "too many sessions"):
				refused.Add(1)
			case response.StatusCode == 200:
				in.Add(1)
			default:
				t.Error(fmt.Sprint(response.StatusCode, text))
			}
		})
	}
	close(start)
	coming.Wait()
	if in.Load() > mostSessions || in.Load() < mostSessions/2 {
		t.Errorf("%d are in, %d were refused", in.Load(), refused.Load())
	}
	until(t, "those that were refused are gone", func() bool { return len(w.door.everySession()) <= mostSessions })
}
