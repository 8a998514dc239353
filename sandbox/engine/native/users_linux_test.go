package native_test

import (
	"os/exec"
	"testing"

	"hermes.example/hermes/sandbox/enginetest/account"
)

// onImage is the part of the suite on images in which it matters whose files they are;
// root runs all of it.
const onImage = "TestNativeOnImage$/^(commands|environment|ephemeral|files|life|mounts|sessions|shells|streams|timeouts|users)"

// imageTests are those of images that need no root.
const imageTests = "Test(AnImage(Says|Cannot|IsFetched|That)|Changes|Layers|Forks|Sets|WhatEnds|Frozen|ForkKilled|Commit).*"

// TestNativeAsOrdinaryUser runs the suite as a user who has subordinate ids.
func TestNativeAsOrdinaryUser(t *testing.T) { withSubordinateIDs(t, "TestNative") }

func TestNativeOnImageAsOrdinaryUser(t *testing.T) { withSubordinateIDs(t, onImage) }

func TestImagesAsOrdinaryUser(t *testing.T) { withSubordinateIDs(t, imageTests) }

// TestNativeWithASingleID runs the suite as a user who has no other ids.
func TestNativeWithASingleID(t *testing.T) { withASingleID(t, "TestNative") }

func TestNativeOnImageWithASingleID(t *testing.T) { withASingleID(t, onImage) }

func TestImagesWithASingleID(t *testing.T) { withASingleID(t, imageTests) }

func withSubordinateIDs(t *testing.T, tests string) {
	t.Helper()
	takeTurn(t)
	for _, program := range []string{"newuidmap", "newgidmap"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("%s is missing: Debian has it in the package uidmap", program)
		}
	}
	runAs(t, account.New(t, true), "subordinate", tests)
}

func withASingleID(t *testing.T, tests string) {
	t.Helper()
	takeTurn(t)
	runAs(t, account.New(t, false), "single", tests)
}

// turns are for users whose tests run at the same time. One alone leaves a machine of
// two cores idle half of the time; all of them would wait for each other.
var turns = make(chan struct{}, 2)

// takeTurn lets other users' tests run beside this one.
func takeTurn(t *testing.T) {
	t.Helper()
	t.Parallel()
	turns <- struct{}{}
	t.Cleanup(func() { <-turns })
}

func runAs(t *testing.T, a account.Account, ids, tests string) {
	t.Helper()
	a.Run(t, tests, ownUserVariable+"=1", idsVariable+"="+ids)
}
