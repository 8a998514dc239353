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
}
