package faults

func callerRole() error { return nil }
func ensureRole() error { return nil }
func starvingRole() error { return nil }
func listenerRole() error { return nil }
