package main

// What joins the parts of add-ons.
var addonManagerVariants = []variant{
	{
		name: "D32-the-store-constrains", test: "TestD32APinCanBeRaised", in: "internal/addon",
		file: "internal/addon/plan.go",
		old:  "have.Name == f.Name && slices.Equal(have.Specs, f.Specs)",
		new:  "have.Name == f.Name",
	},
	{
		name: "D33-any-core-will-do", test: "TestD33AGenerationOfAnotherCoreIsMadeAnew", in: "internal/addon",
		file: "internal/addon/settle.go",
		old:  "return err == nil && core == p.core",
		new:  "return err == nil || core == p.core",
	},
	{
		name: "D40-bytecode-of-a-wheel", test: "TestD40AWheelsBytecodeIsNotTrusted", in: "internal/addon",
		file: "internal/addon/vet/vet.go",
		old:  " || isBytecode(path) && !t.ours(path)",
		new:  "",
	},
	{
		name: "D40-bytecode-is-not-verified", test: "TestVerifyFindsChangedBytecode", in: "internal/addon",
		file: "internal/addon/store/verify.go",
		old:  `if v.meet(name, want, d) && want.sum != "" {`,
		new:  `if v.meet(name, want, d) && want.sum != "" && filepath.Ext(name) != ".pyc" {`,
	},
	{
		name: "bytecode-is-a-step-back", test: "TestBytecodeIsNoStepOfTheHistory", in: "internal/addon",
		file: "internal/addon/store/history.go",
		old:  "all[before+1].InPlaceOf == all[before].Digest",
		new:  "false",
	},
	{
		name: "D45-failures-are-forgotten", test: "TestD45AFailureIsRememberedForAWhile", in: "internal/addon",
		file: "internal/addon/ensure.go",
		old:  "failed && !m.Retry {",
		new:  "failed && false {",
	},
	{
		name: "D48-presence-is-enough", test: "TestD48NothingIsDowngradedAndPresenceIsNoUse", in: "internal/addon",
		file: "internal/addon/addon.go",
		old:  "return err == nil && accepted",
		new:  "return err == nil || accepted",
	},
	{
		name: "D50-only-what-is-asked-for", test: "TestD50WantedFeaturesAreRebuiltForAnotherInterpreter", in: "internal/addon",
		file: "internal/addon/maintain.go",
		old:  "		if err := b.run(ctx, wanted); err != nil {",
		new:  "		if err := b.run(ctx, nil); err != nil {",
	},
	{
		name: "D50-left-out-is-forgotten", test: "TestD50WhatCannotBeMadeForAnotherCoreIsStillWanted", in: "internal/addon",
		file: "internal/addon/store/records.go",
		old:  "return slices.Contains(now, name) && !slices.Contains(w.stay, name)",
		new:  "return slices.Contains(now, name)",
	},
	{
		name: "D50-the-cache-is-emptied", test: "TestCollectPrunesTheCache", in: "internal/addon",
		file: "internal/addon/install/prune.go",
		old:  "if k[name] == nil && pep508.Normalize(name) == name {",
		new:  "if pep508.Normalize(name) == name {",
	},
	{
		name: "D50-use-is-no-wish", test: "TestD50WhatIsUsedIsWanted", in: "internal/addon",
		file: "internal/addon/ensure.go",
		old:  "p.there(f, true), inStore(w.Want(f.Name))",
		new:  "p.there(f, true), nil",
	},
}
