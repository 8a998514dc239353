// Package browser tests the dashboard's pages as a person meets them: the program itself, built once and started in a
// home of its own for every test, as an ordinary user where one can be made, looked at by a real Chromium.
//
// Elements are found as a screen reader finds them, by role and name, so that every test is also one of that. Whatever
// a page says on its console as an error, throws, or was refused by its content security policy fails the test.
package browser

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"hermes.example/hermes/sandbox/enginetest/account"
	"hermes.example/hermes/test/program"
)

// bound is how long something may take to show before it counts as a hang.
const bound = 30 * time.Second

var (
	binDir   string           // where hermes is
	missing  string           // why there is nothing to test, or nothing to test it with
	ordinary *account.Account // who runs hermes; nil is whoever runs the tests
	chromium context.Context  // the one browser, in which every test has a profile of its own
)

func TestMain(m *testing.M) { os.Exit(testMain(m)) }

func testMain(m *testing.M) int {
	if missing = program.Missing(); missing != "" {
		return m.Run()
	}
	path, err := exec.LookPath("chromium")
	if err != nil {
		missing = "there is no chromium: install the package chromium (scripts/test-deps.sh)"
		if os.Getenv("CI") != "" {
			fmt.Println(missing)
			return 1
		}
		return m.Run()
	}
	dir, remove, err := program.Build()
	if err != nil {
		fmt.Println(err)
		return 1
	}
	defer remove()
	binDir = dir
	if os.Getuid() == 0 {
		if a, err := account.Make(true); err == nil {
			ordinary = &a
			defer a.Remove()
		}
	}
	end, err := startChromium(path, dir)
	if err != nil {
		fmt.Println(err)
		return 1
	}
	defer end()
	return m.Run()
}

// startChromium starts the browser without its sandbox, which root cannot have, and without anything that it does on
// its own in the network.
func startChromium(path, dir string) (end func(), err error) {
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path), chromedp.NoSandbox, chromedp.DisableGPU,
		chromedp.WindowSize(1280, 800), chromedp.Flag("disable-component-update", true), chromedp.Flag("no-pings", true),
		chromedp.Flag("proxy-server", "direct://"), chromedp.Flag("lang", "en"), chromedp.WSURLReadTimeout(time.Minute),
		chromedp.Env("TMPDIR="+dir)) // it leaves there what it does not remove
	allocator, stop := chromedp.NewExecAllocator(context.Background(), options...)
	ctx, cancel := chromedp.NewContext(allocator)
	if err := chromedp.Do(ctx); err != nil {
		cancel()
		stop()
		return nil, fmt.Errorf("cannot start chromium: %w", err)
	}
	chromium = ctx
	return func() { cancel(); stop() }, nil
}
