package main

// What keeps backends warm, and who is called.
var keeperVariants = []variant{
	{
		name: "keeper-answers-strangers", test: "TestAnotherUserIsNotAnswered", in: "internal/addon/keeper",
		file: "internal/addon/keeper/listener_linux.go",
		old:  " && int(who.Uid) == os.Geteuid()",
		new:  " && peer != nil",
	},
	{
		name: "keeper-calls-again", test: "TestACallDuringWhichTheKeeperEndsIsNotMadeAgain", in: "internal/addon/keeper",
		file: "internal/addon/keeper/client.go",
		old:  "		case heard:\n			return answer{}, ended(r.Feature, err)\n",
		new:  "		case heard && attempt == tries:\n			return answer{}, ended(r.Feature, err)\n",
	},
	{
		name: "keeper-is-started-by-everybody", test: "TestManyCallersStartOneKeeper", in: "internal/addon/keeper",
		file: "internal/addon/keeper/start_linux.go",
		old:  "	if listens(socket) {\n		return nil // another caller was first\n	}\n",
		new:  "",
	},
	{
		name: "keeper-has-what-its-caller-had", test: "TestTheKeeperHasNothingOfWhoStartedIt", in: "internal/addon/keeper",
		file: "internal/addon/keeper/listener_linux.go",
		old:  "			unix.Close(fd)\n",
		new:  "			continue\n",
	},
	{
		name: "keeper-is-elsewhere", test: "TestEnvironSaysWherePlacesAreFromEverywhere", in: "internal/addon/keeper",
		file: "internal/addon/keeper/environ.go",
		old:  "if absolute, err := filepath.Abs(place); err == nil {",
		new:  "if absolute, err := filepath.Abs(place); err != nil {",
	},
	{
		name: "keeper-gets-every-variable", test: "TestEnvironHasNoSecrets", in: "internal/addon/keeper",
		file: "internal/addon/keeper/environ.go",
		old:  `value != "" && slices.Contains(handed, name)`,
		new:  `value != "" && (name != "" || slices.Contains(handed, name))`,
	},
	{
		name: "keeper-of-any-build-will-do", test: "TestAKeeperOfAnotherBuildGivesWayAndFinishesWhatItBegan", in: "internal/addon/keeper",
		file: "internal/addon/keeper/serve_linux.go",
		old:  "if q.Header.Get(buildHeader) != s.Build {",
		new:  `if q.Header.Get(buildHeader) == "" {`,
	},
	{
		name: "keeper-lets-calls-go-on", test: "TestACallerWhoGoesAwayEndsHisCall", in: "internal/addon/keeper",
		file: "internal/addon/keeper/serve_linux.go",
		old:  "a, err := do(q.Context(), r)",
		new:  "a, err := do(context.WithoutCancel(q.Context()), r)",
	},
	{
		name: "a-feature-is-given-everything", test: "TestAFeatureIsGivenWhatItDeclaresAndNoMore", in: "internal/addon/choice",
		file: "internal/addon/feature/feature.go",
		old:  "slices.Concat(f.Credentials, f.Settings) {",
		new:  "slices.Concat(f.Credentials, f.Settings, []string{\"PATH\"}) {",
	},
	{
		name: "a-search-goes-to-others", test: "TestWhichFeaturesANameMeans", in: "internal/addon/choice",
		file: "internal/addon/choice/choice.go",
		old:  "	return chosen, nil\n}\n\nfunc searchable",
		new:  "	return append(chosen, defaults(list, lookup)...), nil\n}\n\nfunc searchable",
	},
}
