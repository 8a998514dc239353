// Package sealed knows the sealed Python runtime: the core that add-ons may only ever
// add to.
package sealed

// Description is what a runtime says of itself in hermes-runtime.json, written when it
// was built, so that nobody has to start an interpreter to learn it.
type Description struct {
	Version int    `json:"version"` // of this format
	Python  string `json:"python"`  // "3.11.2"
	// ABI is what `.python-abi` holds: major.minor, a colon, the suffix of extension modules.
	ABI string `json:"abi"`
	// Tag names the ABI in paths: "cpython-311-x86_64-linux-gnu".
	Tag string `json:"tag"`
	// SitePackages is relative to the runtime's root.
	SitePackages string `json:"site_packages"`
	// Distributions are the core's, by normalised name, with their exact versions.
	Distributions map[string]string `json:"distributions"`
	// Modules are the top-level names that the core can import, Namespaces those of them
	// that are namespace packages, Stdlib the names of the standard library.
	Modules    []string `json:"modules"`
	Namespaces []string `json:"namespaces"`
	Stdlib     []string `json:"stdlib"`
	// EntryPoints are the core's, as "group:name"; Scripts are the names in its bin.
	EntryPoints []string `json:"entry_points"`
	Scripts     []string `json:"scripts"`
}

// Runtime is a sealed runtime that was found.
type Runtime struct {
	Root string
	Description
}
