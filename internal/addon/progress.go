package addon

import "hermes.example/hermes/internal/addon/install"

// Phase is a part of an install.
type Phase string

// The phases, in their order. Those in between are the installer's.
const (
	Waiting     Phase = "waiting" // for another process that installs
	Resolving         = Phase(install.Resolving)
	Downloading       = Phase(install.Downloading)
	Installing        = Phase(install.Installing)
	Building          = Phase(install.Building)
	Checking    Phase = "checking"
	Publishing  Phase = "publishing"
	Compiling   Phase = "compiling" // what was published
)

// Progress is how far the install of a feature is.
type Progress struct {
	Feature string
	Phase   Phase
	// Done of Total packages, and the bytes that all of them are to download; zero where that is not known.
	Done, Total int
	Size        int64
}
