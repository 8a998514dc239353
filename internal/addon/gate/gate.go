// Package gate is the one place that says whether an add-on may be installed, and where to. It
// looks at settings only: which feature it is about, and whether that is there already, is for
// its caller. It changes nothing.
package gate

import (
	"fmt"

	"hermes.example/hermes/internal/addon/unavailable"
	"hermes.example/hermes/internal/config"
)

// Verdict is the gate's answer.
type Verdict struct {
	// Destination is the store, whether more may be installed into it or not. The interpreter's
	// own tree is never one.
	Destination string
	// Refusal says why nothing may be installed, and what to do; nil means that it may.
	Refusal *unavailable.Error
	// Switch is the one setting that the refusal comes from.
	Switch string
}

// Allowed says whether something may be installed.
func (v Verdict) Allowed() bool { return v.Refusal == nil }

const chooseTarget = "set " + config.LazyInstallTarget + " to a directory that add-ons may be installed into"

// Ask judges the settings. Of several that forbid it the one is named that nothing else makes up
// for.
func Ask(lookup config.Lookup) Verdict {
	home, err := config.Home(lookup)
	if err != nil {
		return Verdict{}.refuse("HERMES_HOME", unavailable.Because(unavailable.Target, err, "set HERMES_HOME to the directory of your data"))
	}
	destination, chosen, err := config.AddOnStore(lookup)
	v := Verdict{Destination: destination}
	if err != nil {
		return v.refuse(config.LazyInstallTarget, unavailable.Because(unavailable.Target, err, chooseTarget))
	}
	if manager := config.Manager(lookup); manager != "" && !chosen {
		return v.refuse(config.ManagedBy, unavailable.OnManaged(manager))
	}
	allowed, err := config.AllowsLazyInstalls(home)
	switch {
	case err != nil:
		cause := fmt.Sprintf("%s, which cannot be read: %v", config.LazyInstallsKey, err)
		return v.refuse(config.LazyInstallsKey, unavailable.DisabledBy(cause, "repair that file"))
	case !allowed:
		cause, next := config.LazyInstallsKey+" in "+config.File(home), fmt.Sprintf(`allow them with "hermes config set %s true"`, config.LazyInstallsKey)
		return v.refuse(config.LazyInstallsKey, unavailable.DisabledBy(cause, next))
	case config.Switch(lookup, config.DisableLazyInstalls) && !chosen:
		return v.refuse(config.DisableLazyInstalls, unavailable.DisabledBy(config.DisableLazyInstalls, chooseTarget))
	}
	return v
}

// AskSource judges whether packages without a wheel may be built here, which runs their code before anybody has looked
// at what comes of it. Only a variable allows it: the file of settings is the agent's to write. No packages need no leave.
func AskSource(lookup config.Lookup, packages []string) *unavailable.Error {
	if len(packages) == 0 || config.Switch(lookup, config.BuildFromSource) {
		return nil
	}
	return unavailable.NeedsSource(packages, config.BuildFromSource)
}

func (v Verdict) refuse(cause string, refusal *unavailable.Error) Verdict {
	v.Switch, v.Refusal = cause, refusal
	return v
}
