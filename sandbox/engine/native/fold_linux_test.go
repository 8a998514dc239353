package native_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"hermes.example/hermes/internal/image/hostimage"
	"hermes.example/hermes/sandbox"
	"hermes.example/hermes/sandbox/engine/native"
)

// forkAway forks a sandbox and discards the fork.
func (a *imageArena) forkAway(task string) {
	a.t.Helper()
	if err := errors.Join(a.fork(task, "gone"), a.manager.Remove(a.t.Context(), a.id("gone"), true)); err != nil {
		a.t.Fatal(err)
	}
}

// sets counts the sets of frozen files of the home.
func (a *imageArena) sets() int {
	a.t.Helper()
	entries, err := os.ReadDir(filepath.Join(a.home, "sandboxes", "native-frozen"))
	if err != nil {
		a.t.Error(err)
	}
	return len(entries)
}

// Every way in which a later set can lie over an earlier one, and below both an image.
const (
	foldBefore = `echo old >/srv/file; echo old >/srv/image; mkdir -p /srv/dir/sub /srv/opaque /srv/todir /srv/gone; echo a >/srv/dir/a; echo b >/srv/dir/sub/b
		echo hidden >/srv/opaque/hidden; echo f >/srv/tofile; rm -r /srv/imagedir; rm /srv/imagefile; echo x >/srv/gone/x; ln /srv/dir/a /srv/hard; ln -s dir /srv/link
		rm -r /srv/over; echo file >/srv/over; chmod 700 /srv/dir; rm -r /srv/anew; mkdir /srv/anew; echo 1 >/srv/anew/one; echo h >~/h; echo w >/workspace/w`
	foldBetween = `echo new >/srv/file; echo c >/srv/dir/c; rm /srv/dir/a; chmod 750 /srv/dir; rm -r /srv/opaque; mkdir /srv/opaque; echo shown >/srv/opaque/shown
		rm /srv/tofile; mkdir /srv/tofile; echo in >/srv/tofile/in; rm -r /srv/todir; echo now >/srv/todir; rm -r /srv/gone; mkdir /srv/imagedir; echo again >/srv/imagedir/again
		rm /srv/over; mkdir /srv/over; echo own >/srv/over/own; echo 2 >/srv/anew/two; rm ~/h; echo w2 >>/workspace/w`
	foldLook = `cd /srv; find . | sort; cat file image dir/c dir/sub/b opaque/shown tofile/in todir imagedir/again hard over/own /workspace/w; readlink link
		stat -c '%n %a' dir; ls ~; echo end`
	foldSeen = ".\n./anew\n./anew/one\n./anew/two\n./dir\n./dir/c\n./dir/sub\n./dir/sub/b\n./dir/under\n./file\n./hard\n./image\n./imagedir\n./imagedir/again\n./link\n./opaque\n./opaque/shown\n" +
		"./over\n./over/own\n./todir\n./tofile\n./tofile/in\nnew\nold\nc\nb\nshown\nin\nnow\nagain\na\nown\nw\nw2\ndir\ndir 750\nend"
)

func TestSetsThatNobodyElseNeedsAreFolded(t *testing.T) {
	a := newImageArena(t, native.Options{})
	spec := sandbox.Spec{Cwd: "/", Image: writeImage(t, hostimage.Config{}, []hostimage.File{{Name: "srv/image", Content: "i"}, {Name: "srv/imagefile", Content: "i"},
		{Name: "srv/imagedir/under", Content: "u"}, {Name: "srv/over/under", Content: "u"}, {Name: "srv/dir/under", Content: "u"}, {Name: "srv/anew/under", Content: "u"}})}
	a.says(a.ensure("p", spec), foldBefore, "")
	a.forkAway("p")
	a.says(a.ensure("p", spec), foldBetween, "")
	a.says(a.ensure("p", spec), foldLook, foldSeen)
	for i := range 12 {
		a.forkAway("p")
		a.says(a.ensure("p", spec), fmt.Sprintf("%s\necho %d >/n%d; echo %d >/same; [ %d = 0 ] || rm /n%d", foldLook, i, i, i, i, i-1), foldSeen)
		if n := a.sets(); n > 8 {
			t.Fatalf("after %d forks there are %d sets", i+2, n)
		}
	}
	a.says(a.ensure("p", spec), "ls -d /n*; cat /same", "/n11\n11")
	// What a fork stands on stays, while what lies above it is folded.
	if err := a.fork("p", "fork"); err != nil {
		t.Fatal(err)
	}
	for i := range 10 {
		a.says(a.ensure("p", spec), fmt.Sprintf("echo p%d >/same; rm -f /srv/image", i), "")
		a.forkAway("p")
	}
	a.says(a.ensure("fork", spec), foldLook+"; cat /same", foldSeen+"\n11")
	a.says(a.ensure("p", spec), "cat /same; ls /srv/image 2>/dev/null; cat /srv/file", "p9\nnew")
	if n := a.sets(); n > 10 {
		t.Errorf("there are %d sets", n)
	}
}
