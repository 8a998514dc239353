package config

import (
	"reflect"
	"strings"
	"testing"
	"time"
)

func TestWhatToolsMayDo(t *testing.T) {
	usual := Tools{MaxOutput: 50_000, Timeout: 180 * time.Second, MaxForeground: 600 * time.Second, Promote: true, Degraded: true}
	with := func(change func(*Tools)) Tools {
		changed := usual
		change(&changed)
		return changed
	}
	for _, c := range []struct {
		text string
		env  map[string]string
		want Tools
	}{
		{"", nil, usual},
		{"tool_output: {max_bytes: 7}", nil, with(func(t *Tools) { t.MaxOutput = 7 })},
		{"tool_output: {max_bytes: 0}", nil, usual},
		{"tool_output: {max_bytes: -3}", nil, usual},
		{"tool_output: {max_bytes: many}", nil, usual},
		{"tool_output: {max_bytes: [1]}", nil, usual},
		{"tool_output: 9", nil, usual},
		{"terminal: {timeout: 20}", nil, with(func(t *Tools) { t.Timeout = 20 * time.Second })},
		{"terminal: {timeout: 0}", nil, with(func(t *Tools) { t.Timeout = 600 * time.Second })},
		{"terminal: {timeout: 900}", nil, with(func(t *Tools) { t.Timeout = 600 * time.Second })},
		{"", map[string]string{"TERMINAL_MAX_FOREGROUND_TIMEOUT": "60"}, with(func(t *Tools) { t.Timeout, t.MaxForeground = time.Minute, time.Minute })},
		{"terminal: {max_foreground_timeout: 900, timeout: 700}", nil, with(func(t *Tools) { t.Timeout, t.MaxForeground = 700*time.Second, 900*time.Second })},
		{"", map[string]string{"TERMINAL_FOREGROUND_OVERRUN": "Refuse", "TERMINAL_DEGRADED_MODE": "fail"}, with(func(t *Tools) { t.Promote, t.Degraded = false, false })},
		{"terminal: {foreground_overrun: promote, degraded_mode: warn}", map[string]string{"TERMINAL_DEGRADED_MODE": "fail"}, usual},
	} {
		got, err := loaded(t, c.text, c.env).Tools()
		got.Protected = nil // has a test of its own
		if err != nil || !reflect.DeepEqual(got, c.want) {
			t.Errorf("%q %v: %+v, %v", c.text, c.env, got, err)
		}
	}
	for text, why := range map[string]string{
		"terminal: {max_foreground_timeout: 0}":    "cannot use terminal.max_foreground_timeout=\"0\"",
		"terminal: {max_foreground_timeout: soon}": "expected a whole number of seconds",
		"terminal: {foreground_overrun: maybe}":    "expected promote or refuse",
		"terminal: {degraded_mode: yes}":           "expected warn or fail",
	} {
		if got, err := loaded(t, text, nil).Tools(); err == nil || !strings.Contains(err.Error(), why) {
			t.Errorf("%q: %+v, %v", text, got, err)
		}
	}
}
