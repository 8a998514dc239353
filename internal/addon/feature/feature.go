// Package feature is the list of what may be installed, and of nothing else.
package feature

// Feature is an opt-in backend.
type Feature struct {
	Name      string   `json:"name"`      // "search.firecrawl"
	For       string   `json:"for"`       // one line for people
	Ecosystem string   `json:"ecosystem"` // "python"
	Specs     []string `json:"specs"`     // the first one is the anchor
	Probes    []string `json:"probes"`    // modules whose import shows that it works
	Entry     string   `json:"entry,omitempty"`
	// Unsupported are operating systems, as Go names them, on which it cannot be.
	Unsupported []string `json:"unsupported,omitempty"`
}
