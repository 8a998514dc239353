package faults

func ensureRole() error { return nil }
func starvingRole() error { return nil }
func listenerRole() error { return nil }
