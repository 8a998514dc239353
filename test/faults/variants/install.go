package main

var installVariants = []variant{
	{
		name: "D42-tools-of-any-kind", test: "TestD42NothingIsBuiltFromWhatIsNotLocked", in: "internal/addon/install",
		file: "internal/addon/install/source.go",
		old:  `append(interpreter, "--no-build-isolation", "--target", into)`,
		new:  `append(interpreter, "--target", into)`,
	},
	{
		name: "D46-a-build-sees-logins", test: "TestD46APackageIsBuiltWithoutLogins", in: "internal/addon/install",
		file: "internal/addon/install/source.go",
		old:  `env: env.anonymous(s.path("nobody"))`,
		new:  "env: env",
	},
	{
		name: "D32-the-store-constrains", test: "TestD32APinCanBeRaised", in: "internal/addon/install",
		file: "internal/addon/install/environ.go",
		old:  "	env[\"UV_NO_PROGRESS\"] = \"1\"\n",
		new: `	env["UV_NO_PROGRESS"] = "1"
	env["UV_CONSTRAINT"] = filepath.Join(scratch, "store.txt")
	var store strings.Builder
	found, _ := filepath.Glob(filepath.Join(filepath.Dir(i.Cache), "*", "*.dist-info"))
	for _, f := range found {
		store.WriteString(strings.Replace(strings.TrimSuffix(filepath.Base(f), ".dist-info"), "-", "==", 1) + "\n")
	}
	if err := os.WriteFile(env["UV_CONSTRAINT"], []byte(store.String()), 0o600); err != nil {
		return nil, false, err
	}
`,
	},
	{
		name: "D38-over-what-is-there", test: "TestD38NothingIsInstalledOverSomething", in: "internal/addon/install",
		file: "internal/addon/install/install.go",
		old:  "	case len(entries) > 0:\n",
		new:  "	case len(entries) < 0:\n",
	},
	{
		name: "D42-sources-are-built", test: "TestD42OnlyWheelsWithTheirHashes", in: "internal/addon/install",
		file: "internal/addon/install/uv.go",
		old:  `"--require-hashes", "--only-binary", ":all:", `,
		new:  `"--require-hashes", `,
	},
	{
		name: "D42-hashes-are-not-asked-for", test: "TestD42OnlyWheelsWithTheirHashes", in: "internal/addon/install",
		file: "internal/addon/install/install.go",
		old:  "		if len(p.Hashes) == 0 {\n",
		new:  "		if len(p.Hashes) < 0 {\n",
	},
	{
		name: "D46-all-is-inherited", test: "TestD46TheEnvironmentIsNotInherited", in: "internal/addon/install",
		file: "internal/addon/install/environ.go",
		old:  "	for _, name := range passed {\n",
		new:  "	for _, entry := range i.Environ {\n		name, _, _ := strings.Cut(entry, \"=\")\n",
	},
	{
		name: "D46-uv-is-led-elsewhere", test: "TestD46TheEnvironmentIsNotInherited", in: "internal/addon/install",
		file: "internal/addon/install/environ.go",
		old:  "		case slices.Contains(passedToUV, name), isIndexLogin(name):\n",
		new:  "		case strings.HasPrefix(name, \"UV_\"):\n",
	},
	{
		name: "D47-no-word-of-the-policy", test: "TestD47TheMinimumAgeIsNamed", in: "internal/addon/install",
		file: "internal/addon/install/resolve.go",
		old:  "	if !before.IsZero() && !s.Offline {\n",
		new:  "	if before.IsZero() && !s.Offline {\n",
	},
	{
		name: "D50-nothing-is-kept", test: "TestD50InstalledAgainWithoutTheNetwork", in: "internal/addon/install",
		file: "internal/addon/install/environ.go",
		old:  `func (i Installer) uvCache() string { return filepath.Join(i.Cache, "uv") }`,
		new:  `func (i Installer) uvCache() string { return filepath.Join(i.Cache, "tmp", "uv") }`,
	},
	{
		name: "D50-pip-keeps-no-wheels", test: "TestD50InstalledAgainWithoutTheNetwork", in: "internal/addon/install",
		file: "internal/addon/install/environ.go",
		old:  `func (i Installer) wheels() string { return filepath.Join(i.Cache, "wheels") }`,
		new:  `func (i Installer) wheels() string { return filepath.Join(i.Cache, "tmp", "wheels") }`,
	},
	{
		name: "installers-outlive-us", test: "TestAKilledInstallationLeavesNothingRunning", in: "internal/addon/install",
		file: "internal/addon/install/tree_linux.go",
		old:  "Setsid: true, Pdeathsig: syscall.SIGKILL}",
		new:  "Setsid: true}",
	},
	{
		name: "secrets-in-arguments", test: "TestASilentIndexEndsWithTheTimeAndShowsNoSecret", in: "internal/addon/install",
		file: "internal/addon/install/uv.go",
		old: `		from,
`,
		new: `		from, []string{"--default-index", env["UV_DEFAULT_INDEX"]},
`,
	},
	{
		name: "secrets-in-errors", test: "TestSecretsAreHidden", in: "internal/addon/install",
		file: "internal/addon/lastwords/secrets.go",
		old: `		text = strings.ReplaceAll(text, value, hidden)
`,
		new: `		text = strings.Replace(text, value, value, 1)
`,
	},
}
