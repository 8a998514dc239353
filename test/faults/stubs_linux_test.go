package faults

func starvingRole() error { return nil }
func listenerRole() error { return nil }
