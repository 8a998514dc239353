package main

var vetVariants = []variant{
	{
		name: "D37-the-core-is-not-asked", test: "TestD37WhatTheCoreHasIsNotInTheStore", in: "internal/addon/vet",
		file: "internal/addon/vet/distribution.go",
		old:  "if version, has := core.Distributions[d.name]; has {",
		new:  "if version, has := core.Distributions[d.dir]; has {",
	},
	{
		name: "D38-success-is-believed", test: "TestD38AnInstallOverAnotherIsNoSuccess", in: "internal/addon/vet",
		file: "internal/addon/vet/record.go",
		old:  `case strings.TrimRight(sum, "=") != f.recordHash():`,
		new:  `case sum == "":`,
	},
	{
		name: "D38-two-at-once", test: "TestD38AnInstallOverAnotherIsNoSuccess", in: "internal/addon/vet",
		file: "internal/addon/vet/distribution.go",
		old:  "if before := seen[d.name]; before != nil {",
		new:  "if before := seen[d.dir]; before != nil {",
	},
	{
		name: "D40-path-files", test: "TestD40TheStoreCanOnlyAdd", in: "internal/addon/vet",
		file: "internal/addon/vet/startup.go",
		old:  `case strings.HasSuffix(low, ".pth"):`,
		new:  `case low == "easy-install.pth":`,
	},
	{
		name: "D40-entry-points", test: "TestD40TheStoreCanOnlyAdd", in: "internal/addon/vet",
		file: "internal/addon/vet/startup.go",
		old:  "case taken[point]:",
		new:  "case taken[group]:",
	},
	{
		name: "D40-namespaces", test: "TestD40TheStoreCanOnlyAdd", in: "internal/addon/vet",
		file: "internal/addon/vet/names.go",
		old:  `if rule == "" {`,
		new:  `if rule == "" || rule == CoreNamespace && !t.isPackage(name) {`,
	},
	{
		name: "D40-packages-only", test: "TestD40TheStoreCanOnlyAdd", in: "internal/addon/vet",
		file: "internal/addon/vet/names.go",
		old:  `if rule == "" {`,
		new:  `if rule == "" || rule == CoreModule && !t.isPackage(name) {`,
	},
}
