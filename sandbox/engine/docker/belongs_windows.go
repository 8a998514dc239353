package docker

// belongs is true of everybody: directories have no such owners here.
func belongs(string, int, int) bool { return true }
