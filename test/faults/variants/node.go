package main

// Features of npm.
var nodeVariants = []variant{
	{
		name: "D42-npm-runs-scripts", test: "TestD42NoScriptOfAPackageRuns", in: "internal/addon/install",
		file: "internal/addon/install/npm.go",
		old:  `"ci", "--ignore-scripts", `,
		new:  `"ci", `,
	},
	{
		name: "D42-npm-takes-any-archive", test: "TestD42OnlyTheLocksArchives", in: "internal/addon/install",
		file: "internal/addon/install/npmlock.go",
		old:  "Version: n.Version, Integrity: n.Integrity, ",
		new:  "Version: n.Version, ",
	},
	{
		name: "D46-npm-inherits-all", test: "TestD46NPMDoesNotInheritTheEnvironment", in: "internal/addon/install",
		file: "internal/addon/install/npm.go",
		old:  `range []string{"NODE_EXTRA_CA_CERTS", "NODE_USE_SYSTEM_CA", "NODE_USE_ENV_PROXY"} {`,
		new:  "range s.Environ {\n		name, _, _ = strings.Cut(name, \"=\")",
	},
	{
		name: "D46-any-setting-of-npm", test: "TestNPMsSettingsAreHonoured", in: "internal/addon/install",
		file: "internal/addon/install/npmrc.go",
		old:  "	if slices.Contains(honouredByNPM, name) {\n",
		new:  "	if name != \"\" {\n",
	},
	{
		name: "secrets-of-npm-in-errors", test: "TestSecretsOfNPMAreHidden", in: "internal/addon/install",
		file: "internal/addon/install/secrets.go",
		old:  "isIndexLogin(name) || isNPMLogin(name)",
		new:  "isIndexLogin(name)",
	},
	{
		name: "D50-npm-asks-again", test: "TestD50ATreeIsInstalledAgainWithoutTheNetwork", in: "internal/addon/install",
		file: "internal/addon/install/npm.go",
		old:  "s.Offline || s.mayHave(t) {",
		new:  "s.Offline {",
	},
	{
		name: "D32-npm-remembers-too-much", test: "TestD32APinOfNPMCanBeRaised", in: "internal/addon",
		file: "internal/addon/install/npm.go",
		old:  `"--prefer-online"`,
		new:  `"--prefer-offline"`,
	},
	{
		name: "a-tree-keeps-others-away", test: "TestAFeatureOfNPMKeepsNobodyFromAnother", in: "internal/addon",
		file: "internal/addon/node.go",
		old:  `b.about == "" || b.about == part.Name || `,
		new:  `b.about != "" || b.about == part.Name || `,
	},
	{
		name: "no-node-keeps-others-away", test: "TestAFeatureOfNPMKeepsNobodyFromAnother", in: "internal/addon",
		file: "internal/addon/plan.go",
		old:  "if !b.keepsTree(tree) && !b.installer().HasNode() {",
		new:  "if b.about == name && !b.installer().HasNode() {",
	},
	{
		name: "D40-packages-in-packages", test: "TestD40ATreeHoldsTheLocksPackagesAndNothingElse", in: "internal/addon/vet",
		file: "internal/addon/vet/tree.go",
		old:  `strings.CutPrefix(after, "node_modules/")`,
		new:  `strings.CutPrefix(after, "node_modules//")`,
	},
	{
		name: "D40-a-package-is-another", test: "TestD40ATreeHoldsTheLocksPackagesAndNothingElse", in: "internal/addon/vet",
		file: "internal/addon/vet/tree.go",
		old:  "err != nil || about.Name != p.Name() || ",
		new:  "err != nil || ",
	},
	{
		name: "trees-are-not-verified", test: "TestATreeOfNPMIsPartOfItsGeneration", in: "internal/addon/store",
		file: "internal/addon/store/verify.go",
		old:  "	for _, f := range m.Placed() {\n",
		new:  "	for _, f := range (manifest.Manifest{Files: m.Files}).Placed() {\n",
	},
	{
		name: "changed-trees-are-taken-over", test: "TestATreeIsTakenOver", in: "internal/addon/store",
		file: "internal/addon/store/publish.go",
		old:  "unchanged(w.adopted[staged.Dir], m.Placed())",
		new:  "unchanged(w.adopted[staged.Dir], m.Files)",
	},
}
