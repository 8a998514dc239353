package unavailable

import (
	"cmp"
	"strings"
)

// The reasons, each with the words by which it has always been known. Those that a feature is
// not needed for are given one by For.

// NotListed is for a name that is not in the list: nothing else is ever installed. The closest are
// names that were perhaps meant.
func NotListed(feature string, closest []string) *Error {
	next := `"hermes tools" lists all there are`
	if len(closest) > 0 {
		next = "perhaps " + quoted(strings.Join(closest, `" or "`)) + " was meant; " + next
	}
	return &Error{Feature: feature, Kind: Unknown, Reason: "it is not in the allowlist of add-ons", Next: next}
}

// OnPlatform is for a system on which there is nothing to install.
func OnPlatform(system string) *Error {
	return &Error{Kind: Unsupported, Reason: "unsupported on " + system, Next: "use it on another system, or in the container image"}
}

// OnManaged is for an installation that a package manager owns.
func OnManaged(manager string) *Error {
	return &Error{
		Kind: Unsupported, Reason: "unsupported on " + manager + "-managed installs",
		Next: "set HERMES_LAZY_INSTALL_TARGET to a directory that add-ons may be installed into",
	}
}

// UnsafeSpec is for a requirement that is none, and may be anything. The cause says which and why.
func UnsafeSpec(cause error) *Error {
	return &Error{Kind: Unsafe, Reason: "refusing to install unsafe spec: " + cause.Error(), Cause: cause}
}

// DisabledBy names the one switch that forbids it, and what would allow it.
func DisabledBy(cause, next string) *Error {
	return &Error{Kind: Disabled, Reason: "lazy installs disabled by " + cause, Next: next}
}

// NeedsSource is for packages of which there is only source, and names the switch that lets them be built.
func NeedsSource(packages []string, allowed string) *Error {
	return &Error{
		Kind: Disabled, Reason: strings.Join(packages, ", ") + " would have to be built from source, which is not allowed unless " + allowed + " is set",
		Next: "set " + allowed + "=1 if code of these packages may run here while they are built",
	}
}

// DeclinedAtPrompt is for who was asked and said no.
func DeclinedAtPrompt() *Error {
	return &Error{Kind: Declined, Reason: "user declined install at prompt", Next: `run "hermes addon ensure" again and answer yes`}
}

// InstallerFailed repeats the last words of an installer that failed.
func InstallerFailed(stderr, stdout string, cause error) *Error {
	words := cmp.Or(strings.TrimSpace(stderr), strings.TrimSpace(stdout), "no error output")
	return &Error{Kind: Failed, Reason: "pip install failed: " + tail(words, lastWords), Cause: cause}
}

// BackendFailed says what became of a backend's process, and repeats its last words.
func BackendFailed(why, stderr string, cause error) *Error {
	if words := strings.TrimSpace(stderr); words != "" {
		why += "; it said last: " + tail(words, lastWords)
	}
	return &Error{Kind: Backend, Reason: why, Cause: cause}
}

// NotWritable is for a store in which nothing can be written.
func NotWritable(target string, cause error) *Error {
	return &Error{
		Kind: Target, Reason: because("lazy install target "+target+" is not writable", cause), Cause: cause,
		Next: "make it writable for the user that Hermes runs as, or set HERMES_LAZY_INSTALL_TARGET to another directory",
	}
}

// NoPip is for a runtime without uv and pip, where pip could not be had either.
func NoPip(cause error) *Error {
	return &Error{Kind: NoInstaller, Reason: because("pip not available and ensurepip failed", cause), Cause: cause, Next: "put uv on the PATH"}
}

// NoNode is for a machine without Node.js, such as the slim image.
func NoNode() *Error {
	return &Error{
		Kind: NoInstaller, Reason: "there is no Node.js with npm on the PATH, and the feature is made of packages of npm",
		Next: "use the full image, or install nodejs and npm",
	}
}

// StillMissing is for an installer that said that it was done, and was not.
func StillMissing(cause error) *Error {
	const words = "install reported success but packages still not importable (may require restart)"
	return &Error{Kind: Incomplete, Reason: because(words, cause), Cause: cause}
}

func because(words string, cause error) string {
	if cause == nil {
		return words
	}
	return words + ": " + cause.Error()
}

// Because is for the reasons that have no words of their own: conflicts, what must not be
// published, a runtime that is not there.
func Because(kind Kind, cause error, next string) *Error {
	return &Error{Kind: kind, Reason: cause.Error(), Next: next, Cause: cause}
}
