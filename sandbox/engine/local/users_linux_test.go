package local_test

import (
	"testing"

	"hermes.example/hermes/sandbox/enginetest/account"
)

// TestLocalAsOrdinaryUser runs the suite as a user without any privileges.
func TestLocalAsOrdinaryUser(t *testing.T) {
	account.New(t, false).Run(t, "TestLocal")
}
