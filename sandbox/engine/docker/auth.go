package docker

// registryAuth is what the usual login has stored for an image's registry.
func registryAuth(string) string { return "" }
