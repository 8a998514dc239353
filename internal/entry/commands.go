package entry

// Commands are the commands of hermes. A test of the command line compares the list with it.
var Commands = []string{
	"addon", "bench", "chat", "completion", "config", "dashboard", "doctor", "gateway", "health", "help", "image", "init", "mcp", "profile", "run", "sandbox",
	"service", "status", "tools", "up", "version",
}

// Promised are commands that an image before this one had and hermes does not have yet. Where a program has the same
// name, hermes saying that it does not know the word is better than that program.
var Promised = []string{"login"}
