package main

// What may be installed, and whether it may.
var addonGateVariants = []variant{
	{
		name: "D39-lower-case-only", test: "TestD39EverySpellingOfANameIsOneName", in: "internal/addon/pep508",
		file: "internal/addon/pep508/name.go",
		old:  "		if isSeparator(r) {",
		new:  "		if false {",
	},
	{
		name: "D39-contradicting-pins", test: "TestD39NoTwoFeaturesContradictEachOther", in: "internal/addon/feature",
		file: "internal/addon/feature/features.json",
		old:  `["slack-bolt==1.30.0", "slack-sdk==3.44.1", "aiohttp==3.14.3"]`,
		new:  `["slack-bolt==1.30.0", "slack-sdk==3.44.1", "AioHTTP==3.14.2"]`,
	},
	{
		name: "D41-archives", test: "TestD41WhatLooksLikeARequirementAndIsNone", in: "internal/addon/pep508",
		file: "internal/addon/pep508/requirement.go",
		old:  "isArchive(r.Name) || isArchive(text)",
		new:  "false",
	},
	{
		name: "D41-archives-in-versions", test: "TestD41WhatLooksLikeARequirementAndIsNone", in: "internal/addon/pep508",
		file: "internal/addon/pep508/requirement.go",
		old:  "isArchive(r.Name) || isArchive(text)",
		new:  "isArchive(r.Name)",
	},
	{
		name: "D41-any-version", test: "TestD41WhatLooksLikeARequirementAndIsNone", in: "internal/addon/pep508",
		file: "internal/addon/pep508/specifier.go",
		old:  "s.version, err = ParseVersion(bare); err != nil {",
		new:  "s.version, err = ParseVersion(bare); err != nil && bare == \"\" {",
	},
	{
		name: "D42-anybody-may-build", test: "TestD42BuildingNeedsTheOperator", in: "internal/addon/gate",
		file: "internal/addon/gate/gate.go",
		old:  "len(packages) == 0 || config.Switch(",
		new:  "len(packages) == 0 || !config.Switch(",
	},
	{
		name: "D43-any-text-is-true", test: "TestD43TheGateReadsWhatIsMeant", in: "internal/addon/gate",
		file: "internal/config/addons.go",
		old:  "return allow.truthy(), nil",
		new:  "return allow.value != false, nil",
	},
	{
		name: "D43-broken-allows", test: "TestD43TheGateReadsWhatIsMeant", in: "internal/addon/gate",
		file: "internal/config/addons.go",
		old:  "return false, misunderstood(path, err)",
		new:  "return true, nil",
	},
	{
		name: "D43-only-one-seals", test: "TestD43TheGateReadsWhatIsMeant", in: "internal/addon/gate",
		file: "internal/addon/gate/gate.go",
		old:  "config.Switch(lookup, config.DisableLazyInstalls) && !chosen",
		new:  "func() bool { value, _ := lookup(config.DisableLazyInstalls); return value == \"1\" }() && !chosen",
	},
	{
		name: "D44-the-flag-is-blamed", test: "TestD44TheRefusalNamesItsOwnSwitch", in: "internal/addon/gate",
		file: "internal/addon/gate/gate.go",
		old:  "unavailable.DisabledBy(config.DisableLazyInstalls, chooseTarget)",
		new:  "unavailable.DisabledBy(config.LazyInstallsKey, chooseTarget)",
	},
	{
		name: "D49-into-the-interpreter", test: "TestD49TheOnlyDestinationIsTheStore", in: "internal/addon/gate",
		file: "internal/addon/gate/gate.go",
		old:  "	v := Verdict{Destination: destination}\n",
		new:  "	if venv, found := lookup(\"VIRTUAL_ENV\"); found && !chosen {\n		destination = venv\n	}\n	v := Verdict{Destination: destination}\n",
	},
}
