package supervise

import (
	"context"
	"fmt"
	"net/http"
	"time"
)

// readyEvery is how often a service is asked whether it is ready.
const readyEvery = 100 * time.Millisecond

// awaitReadiness follows the start: it sees to it that isReady or tooLate comes.
func (u *unit) awaitReadiness() {
	p, r := u.process, u.service.Ready
	if r.Within <= 0 {
		r.Within = DefaultWithin
	}
	switch {
	case r.Notify > 0:
		u.after(r.Within, func() { u.tooLate(r.Within, nil) })
		u.s.alive.Go(func() {
			if p.notified() {
				u.on(func() { u.isReady(p) })
			}
		})
	case r.HTTP != "":
		u.askReady(p, r, time.Now().Add(r.Within))
	case r.After > 0:
		u.after(r.After, func() { u.isReady(p) })
	default:
		u.isReady(p)
	}
}

// askReady asks by HTTP, again and again until the end of the time.
func (u *unit) askReady(p *process, r Readiness, end time.Time) {
	u.s.alive.Go(func() {
		err := u.s.probe(r.HTTP, min(DefaultTimeout, max(readyEvery, time.Until(end))))
		u.on(func() {
			switch {
			case u.process != p || u.state != Up: // it is late
			case err == nil:
				u.isReady(p)
			case !time.Now().Before(end):
				u.tooLate(r.Within, err)
			default:
				u.after(readyEvery, func() { u.askReady(p, r, end) })
			}
		})
	})
}

// tooLate is the event that a service was not ready in time.
func (u *unit) tooLate(within time.Duration, err error) {
	why := "not ready within " + brief(within)
	if err != nil {
		why += ": " + err.Error()
	}
	u.halt(failing, why)
}

// awaitHealth follows readiness, and each check that was passed.
func (u *unit) awaitHealth() {
	if u.service.Health == nil {
		return
	}
	p, h := u.process, u.service.Health.defaults()
	u.after(h.Every, func() {
		u.s.alive.Go(func() {
			err := u.s.probe(h.HTTP, h.Timeout)
			u.on(func() { u.checked(p, h, err) })
		})
	})
}

// checked is the event that a health check has an answer.
func (u *unit) checked(p *process, h Health, err error) {
	if u.process != p || u.state != Ready {
		return // it is late
	}
	if err == nil {
		u.misses = 0
	} else if u.misses++; u.misses >= h.Failures {
		u.halt(failing, fmt.Sprintf("not well, %d times in a row: %v", u.misses, err))
		return
	}
	u.awaitHealth()
}

func (h Health) defaults() Health {
	if h.Every <= 0 {
		h.Every = DefaultEvery
	}
	if h.Timeout <= 0 {
		h.Timeout = DefaultTimeout
	}
	if h.Failures <= 0 {
		h.Failures = DefaultFailures
	}
	return h
}

// prober asks services. It keeps no connections, follows no redirection and knows no proxy: it asks exactly the
// address that it was given.
var prober = &http.Client{
	Transport:     &http.Transport{DisableKeepAlives: true},
	CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
}

// probe asks a URL for 2xx.
func (s *Supervisor) probe(url string, timeout time.Duration) error {
	ctx, cancel := context.WithTimeout(s.context, timeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	answer, err := prober.Do(request)
	if err != nil {
		return err
	}
	answer.Body.Close()
	if answer.StatusCode/100 != 2 {
		return fmt.Errorf("%s answers %s", url, answer.Status)
	}
	return nil
}
