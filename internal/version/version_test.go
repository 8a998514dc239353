package version

import (
	"runtime/debug"
	"testing"
)

func TestTheStampWinsOverTheToolchainsRecord(t *testing.T) {
	record := &debug.BuildInfo{
		Main: debug.Module{Version: "v9.9.9"},
		Settings: []debug.BuildSetting{
			{Key: "vcs.revision", Value: "0123456789abcdef0123"},
			{Key: "vcs.time", Value: "2001-02-03T04:05:06Z"},
			{Key: "vcs.modified", Value: "true"},
		},
	}
	for name, c := range map[string]struct {
		stamp  Info
		record *debug.BuildInfo
		want   Info
	}{
		"stamped":    {Info{Version: "v1", Commit: "c", Date: "d"}, record, Info{Version: "v1", Commit: "c", Date: "d"}},
		"recorded":   {Info{}, record, Info{Version: "v9.9.9", Commit: "0123456789ab-dirty", Date: "2001-02-03T04:05:06Z"}},
		"neither":    {Info{}, nil, Info{Version: "dev", Commit: "unknown", Date: "date unknown"}},
		"no version": {Info{}, &debug.BuildInfo{Main: debug.Module{Version: "(devel)"}}, Info{Version: "dev", Commit: "unknown", Date: "date unknown"}},
	} {
		t.Run(name, func(t *testing.T) {
			got := resolve(c.stamp, c.record)
			got.Go, got.Platform = "", ""
			if got != c.want {
				t.Errorf("got %+v, want %+v", got, c.want)
			}
		})
	}
}
