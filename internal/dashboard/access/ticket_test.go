package access

import "testing"

func TestATicketOpensOnceAndOnlyTheNewestCount(t *testing.T) {
	var all tickets
	first := all.issue()
	second := all.issue()
	if first == second || !all.use(second) || all.use(second) || all.use("") || all.use("x"+first) {
		t.Error("a ticket opens other than once, or something else opens too")
	}
	for range mostTickets {
		all.issue()
	}
	if all.use(first) {
		t.Errorf("the oldest of %d tickets counts", mostTickets+1)
	}
	if n := len(all.valid); n != mostTickets {
		t.Errorf("%d are kept", n)
	}
}
