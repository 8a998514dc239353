package cli

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"hermes.example/hermes/internal/config"
	"hermes.example/hermes/internal/dashboard/doorbell"
	"hermes.example/hermes/internal/profile"
	"hermes.example/hermes/internal/ready"
	"hermes.example/hermes/internal/roster"
	"hermes.example/hermes/internal/supervise"
	"hermes.example/hermes/internal/supervise/control"
	"hermes.example/hermes/internal/upkeep"
)

// upWatch tells the person who ran "hermes up" where to look, and then what becomes of the services.
type upWatch struct {
	app      *app
	root     string
	services control.Operations
	json     bool
	// keyless is why the default gateway has no key of its own; nil where it has one.
	keyless error

	failing map[string]bool
}

// upAddresses is what is printed when all is there, or has failed.
type upAddresses struct {
	Home      string      `json:"home"`
	PID       int         `json:"pid"`
	Dashboard upService   `json:"dashboard"`
	Gateways  []upService `json:"gateways"`
	// KeyFile is where the key of the default gateway is.
	KeyFile string `json:"key_file,omitempty"`
}

// upService is where a service is, or why it is not.
type upService struct {
	Profile string          `json:"profile,omitempty"`
	URL     string          `json:"url,omitempty"`
	State   supervise.State `json:"state"`
	Problem string          `json:"problem,omitempty"`
}

const (
	// settleTime is how long the person waits at most for services that neither come up nor fail.
	settleTime = 20 * time.Second
	// lookTime is how often is looked what became of the services.
	lookTime = 500 * time.Millisecond
)

// watch returns when ctx ends, or with the reason why nobody can be told anything, or why there is nothing to watch.
func (w *upWatch) watch(ctx context.Context) error {
	w.failing = map[string]bool{}
	settled := w.settle(ctx)
	if ctx.Err() != nil {
		return nil
	}
	found, hopeless := w.addresses(ctx, settled), w.hopeless(ctx, settled)
	if hopeless == nil || w.json {
		if err := w.print(found); err != nil {
			return cannot("write the addresses", err)
		}
	}
	if hopeless != nil {
		return hopeless
	}
	if w.keyless != nil {
		w.app.say("the gateway may stay closed: %v", w.keyless)
	}
	ready.TellSystemd(w.app.lookup)
	ticker := time.NewTicker(lookTime)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
			w.look(ctx)
		}
	}
}

// settle waits until every service that is wanted is there, or has failed.
func (w *upWatch) settle(ctx context.Context) []supervise.Status {
	waiting, cancel := context.WithTimeout(ctx, settleTime)
	defer cancel()
	all, _ := w.services.Services(ctx) // in this process: it does not fail
	for i, s := range all {
		if now, err := w.services.Wait(waiting, s.Name); err == nil {
			all[i] = now
		}
	}
	return all
}

// hopeless is why none of the services that are wanted can run, and none is tried again: then there is nothing to stay
// for. A configuration that nothing can understand is mended by its owner, not by waiting.
func (w *upWatch) hopeless(ctx context.Context, all []supervise.Status) error {
	var reasons []string
	for _, s := range all {
		switch {
		case s.State == supervise.Parked:
			if why := w.why(ctx, s); !slices.Contains(reasons, why) {
				reasons = append(reasons, why)
			}
		case s.Want == "up":
			return nil
		}
	}
	if reasons == nil {
		return nil
	}
	return settings(fmt.Errorf("cannot run this home: none of its services can be started: %s; mend that and run this again", strings.Join(reasons, "; ")))
}

func (w *upWatch) addresses(ctx context.Context, all []supervise.Status) upAddresses {
	found := upAddresses{Home: w.root, PID: os.Getpid(), Gateways: []upService{}}
	for _, s := range all {
		one := upService{State: s.State, Problem: w.problem(ctx, s)}
		w.failing[s.Name] = one.Problem != ""
		if name, is := roster.ProfileOf(s.Name); is {
			one.Profile = name
			if s.Want == "up" && one.Problem == "" {
				one.URL = w.gatewayURL(name)
			}
			if name == profile.Default || s.Want == "up" {
				found.Gateways = append(found.Gateways, one)
			}
		} else if s.Name == upkeep.Dashboard {
			if one.Problem == "" && s.State == supervise.Ready {
				one.URL, one.Problem = w.dashboardURL(ctx)
			}
			found.Dashboard = one
		}
	}
	// The default one is what people look for.
	slices.SortStableFunc(found.Gateways, func(a, b upService) int {
		return strings.Compare(strconv.FormatBool(b.Profile == profile.Default), strconv.FormatBool(a.Profile == profile.Default))
	})
	if door, _ := doorOf(w.root); door.Key.Reveal() != "" {
		found.KeyFile = filepath.Join(w.root, ".env")
	}
	return found
}

func (w *upWatch) dashboardURL(ctx context.Context) (open, problem string) {
	open, err := doorbell.Ring(ctx, w.root)
	if err != nil {
		return "", "it runs, but has no address that logs in: " + err.Error()
	}
	if w.app.journaled() {
		open = withoutTicket(open)
	}
	return open, ""
}

// gatewayURL is where the gateway of a profile listens; nothing where that is any free port.
func (w *upWatch) gatewayURL(name string) string {
	lookup, _, err := config.WithEnvFile(w.app.agentOf(w.root, name).lookup)
	if err != nil {
		return ""
	}
	c, err := config.Load(lookup)
	if err != nil {
		return ""
	}
	door, err := c.Gateway()
	if err != nil || door.Port == 0 {
		return ""
	}
	host := door.Host
	if ip := net.ParseIP(host); ip != nil && ip.IsUnspecified() {
		host = "localhost"
	}
	return "http://" + net.JoinHostPort(host, strconv.Itoa(door.Port))
}

// why is why a service failed: in its own words, where it said any.
func (w *upWatch) why(ctx context.Context, s supervise.Status) string {
	if line := w.complaint(ctx, s.Name); line != "" {
		return line
	}
	return s.Reason
}

// problem is why a service that is wanted is not there, and what becomes of it.
func (w *upWatch) problem(ctx context.Context, s supervise.Status) string {
	if s.State != supervise.Parked && s.State != supervise.Backoff {
		return ""
	}
	why := w.why(ctx, s)
	if s.State == supervise.Backoff {
		return why + " (it is tried again)"
	}
	return why + " (start it again with \"hermes service start " + s.Name + "\")"
}

// complaint is the last thing that a service said about its end.
func (w *upWatch) complaint(ctx context.Context, name string) (line string) {
	const lines = 20
	log, err := w.services.Log(ctx, name, lines, false)
	if err != nil {
		return ""
	}
	defer log.Close()
	for scanner := bufio.NewScanner(log); scanner.Scan(); {
		if _, text, found := strings.Cut(scanner.Text(), "hermes: "); found {
			line = text
		}
	}
	return oneLine(line)
}

func (w *upWatch) print(found upAddresses) error {
	if w.json {
		return writeJSON(w.app.stdout, found)
	}
	rows := [][]cell{{{"home", bold}, {printable(found.Home), ""}}, w.row("dashboard", found.Dashboard)}
	switch {
	case strings.Contains(found.Dashboard.URL, "token="):
		rows = append(rows, []cell{{"", ""}, {"it logs in, once; for another one: hermes dashboard url", faint}})
	case found.Dashboard.URL != "" && w.app.journaled():
		rows = append(rows, []cell{{"", ""}, {"for one that logs in: hermes dashboard url", faint}})
	}
	for _, g := range found.Gateways {
		label := "gateway"
		if g.Profile != profile.Default {
			label += " " + g.Profile
		}
		rows = append(rows, w.row(label, g))
		if g.Profile == profile.Default && g.URL != "" && found.KeyFile != "" {
			rows = append(rows, []cell{{"", ""}, {"its key is API_SERVER_KEY in " + printable(found.KeyFile), faint}})
		}
	}
	rows = append(rows, []cell{{"logs", bold}, {"hermes service logs -f dashboard", faint}}, []cell{{"end", bold}, {"Ctrl-C stops all of it", faint}})
	return writeTable(w.app.stdout, w.app.paint(), rows)
}

func (w *upWatch) row(label string, s upService) []cell {
	switch {
	case s.Problem != "":
		return []cell{{label, bold}, {"cannot be used: " + oneLine(s.Problem), red}}
	case s.URL != "":
		return []cell{{label, bold}, {s.URL, green}}
	case s.State == supervise.Down:
		return []cell{{label, bold}, {"stopped by its owner; start it with \"hermes gateway start\"", ""}}
	}
	return []cell{{label, bold}, {string(s.State), ""}}
}

// look tells of services that failed since the last look, and of those that are there again.
func (w *upWatch) look(ctx context.Context) {
	all, err := w.services.Services(ctx)
	if err != nil {
		return
	}
	for _, s := range all {
		failed := s.State == supervise.Parked || s.State == supervise.Backoff
		switch {
		case failed && !w.failing[s.Name]:
			w.failing[s.Name] = true
			w.app.say("%s failed: %s; see \"hermes service logs %s\"", s.Name, w.problem(ctx, s), s.Name)
		case s.State == supervise.Ready && w.failing[s.Name]:
			w.failing[s.Name] = false
			w.app.tell(fmt.Sprintf("%s is there again%s", s.Name, w.anew(ctx, s.Name)))
		}
	}
}

// anew is the new address of a dashboard that was started again: the sessions of the old one ended with it.
func (w *upWatch) anew(ctx context.Context, name string) string {
	if name != upkeep.Dashboard {
		return ""
	}
	open, problem := w.dashboardURL(ctx)
	if problem != "" {
		return ", but " + problem
	}
	return ": " + open
}
