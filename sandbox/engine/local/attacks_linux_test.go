package local_test

import (
	"testing"

	"hermes.example/hermes/sandbox/enginetest/account"
)

// TestLocalAttacks lets commands try what the same user may do outside.
func TestLocalAttacks(t *testing.T) {
	t.Run("a command cannot call its guest, nor another's", cannotCall)
	t.Run("a caller that is gone is not let in", deadCaller)
	t.Run("a command cannot pass for a guest", cannotPose)
	t.Run("a command cannot put another guest in the place of its own", cannotMislead)
	t.Run("a command can neither trace, read nor limit the guest", cannotTouch)
	t.Run("a command that removes the socket ends its sandbox's run", socketRemoved)
	t.Run("a command that removes its sandbox's state does so too", stateRemoved)
	t.Run("a command cannot have another process ended in its guest's place", stateForged)
	t.Run("what a killed guest leaves is ended before the next", killedGuest)
	t.Run("what hides ends with its command and its sandbox", hiddenProcesses)
	t.Run("a hermes inside drives nothing outside", hermesInside)
	t.Run("a guest holds nothing of its creator's", inheritedDescriptors)
	t.Run("a limit of processes is set only if it is asked for", processLimit)
	t.Run("nothing of the caller's environment is inside", environmentInside)
}

// TestLocalAttacksAsOrdinaryUser does so as a user without privileges.
func TestLocalAttacksAsOrdinaryUser(t *testing.T) {
	account.New(t, false).Run(t, "TestLocalAttacks")
}
