package main

// inDocker is where the tests of the Docker engine's faults are.
const inDocker = "test/faults/docker"

// What these break a test notices on real containers.
var dockerVariants = []variant{
	{
		name: "D01-docker-first-process-only", test: "TestD01NothingOfATreeIsLeftInTheContainer", in: inDocker,
		file: "internal/guest/tree_linux.go",
		old:  "	return t.killAll()\n}\n\n// killBound",
		new:  "	return nil\n}\n\n// killBound",
	},
	{
		name: "D02-docker-failures-run-again", test: "TestD02OutputIsNeverTakenForALostContainer", in: inDocker,
		file: "sandbox/execution.go",
		old:  "		if err == nil {\n			return x.result(exit, recreated), x.writeErr\n",
		new:  "		if err == nil && exit.Code == 1 && !recreated {\n			x.request.ID, recreated = randomID(), true\n			if line, _, err = x.begin(given); err == nil {\n				continue\n			}\n		}\n		if err == nil {\n			return x.result(exit, recreated), x.writeErr\n",
	},
	{
		name: "D02-docker-lost-is-run-again", test: "TestContainerChangedDuringACommand", in: inDocker,
		file: "internal/guest/requests_linux.go",
		old:  "	s.journal.add(c.id)\n",
		new:  "",
	},
	{
		name: "D03-docker-run-again", test: "TestD03AStreamThatIsCutRunsNothingTwice", in: inDocker,
		file: "sandbox/execution.go",
		old:  "conn.openCommand(ctx, wire.TypeAttach, wire.Attach{ID: x.request.ID, Stdout: x.stdout, Stderr: x.stderr})",
		new:  "conn.openCommand(ctx, wire.TypeExec, func() wire.Exec { r := x.request; r.ID = randomID(); return r }())",
	},
	{
		name: "D03-docker-output-is-lost", test: "TestD03AStreamThatIsCutRunsNothingTwice", in: inDocker,
		file: "sandbox/execution.go",
		old:  "Stdout: x.stdout, Stderr: x.stderr})",
		new:  "Stdout: x.stdout + 1, Stderr: x.stderr})",
	},
	{
		name: "docker-no-way-back", test: "TestD03AStreamThatIsCutRunsNothingTwice", in: inDocker,
		file: "internal/guest/requests_linux.go",
		old:  "const returnBound = 10 * time.Second",
		new:  "const returnBound = 0",
	},
	{
		name: "docker-no-patience", test: "TestDaemonRestartedUnderLivingContainers", in: inDocker,
		file: "sandbox/execution.go",
		old:  "const resumeBound = 10 * time.Second",
		new:  "const resumeBound = 0",
	},
	{
		name: "docker-stopped-is-made-anew", test: "TestDaemonRestartedWithItsContainers", in: inDocker,
		file: "sandbox/manager.go",
		old:  "	case info.State == Stopped:\n		_, err = m.engine.Start(ctx, id, spec)\n",
		new:  "	case info.State == Stopped:\n		m.engine.Remove(ctx, id, false)\n		_, err = m.engine.Create(ctx, id, spec)\n",
	},
	{
		name: "D04-docker-sweep-comes-first", test: "TestD04TheReaperSparesWhatIsOpened", in: inDocker,
		file: "sandbox/manager.go",
		old:  "	conn, err := m.open(ctx, id, spec)\n",
		new:  "	if !m.options.NoSweep {\n		m.sweep(ctx, Identity{Home: id.Home, Profile: id.Profile})\n	}\n	conn, err := m.open(ctx, id, spec)\n",
	},
	{
		name: "D04-docker-any-age", test: "TestDaemonRestartedWithItsContainers", in: inDocker,
		file: "sandbox/reaper.go",
		old:  "return !info.Ended.IsZero() && time.Since",
		new:  "return time.Since",
	},
	{
		name: "D06-docker-half-made-stay", test: "TestD06HalfMadeContainersAreSwept", in: inDocker,
		file: "sandbox/engine/docker/sweep.go",
		old:  "return s == container.StateCreated || s == container.StateDead",
		new:  "return s == container.StateDead",
	},
	{
		name: "D06-docker-makers-are-disturbed", test: "TestD06HalfMadeContainersAreSwept", in: inDocker,
		file: "sandbox/engine/docker/sweep.go",
		old:  "		return false, nil // somebody is\n",
		new:  "		return do()\n",
	},
	{
		name: "D06-docker-failures-stay", test: "TestACreationThatFailsLeavesNothing", in: inDocker,
		file: "sandbox/engine/docker/create.go",
		old:  "		m.discardHalfMade(ctx)\n		return \"\", explain(err)\n",
		new:  "		return \"\", explain(err)\n",
	},
	{
		name: "D06-docker-given-up-stay", test: "TestACreationThatIsGivenUpLeavesNothing", in: inDocker,
		file: "sandbox/engine/docker/create.go",
		old:  "	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), discardBound)\n	defer cancel()\n	if _, err",
		new:  "	ctx, cancel := context.WithTimeout(ctx, discardBound)\n	defer cancel()\n	if _, err",
	},
	{
		name: "D07-docker-specs-are-not-compared", test: "TestD07WhatAContainerIsMadeOfIsCompared", in: inDocker,
		file: "sandbox/manager.go",
		old:  "	case info.SpecHash != spec.Hash():\n",
		new:  "	case info.SpecHash == \"\":\n",
	},
	{
		name: "D08-docker-one-way", test: "TestD08TheNetworkIsComparedBothWays", in: inDocker,
		file: "sandbox/manager.go",
		old:  "	case info.SpecHash != spec.Hash():\n",
		new:  "	case info.SpecHash != spec.Hash() && spec.Network == NetworkNone:\n",
	},
	{
		name: "D09-docker-cleaned-names", test: "TestD09NoTwoIdentitiesShareAContainer", in: inDocker,
		file: "sandbox/identity.go",
		old:  `key := id.Home + "\x00" + id.Profile + "\x00" + id.Task`,
		new:  `key := id.Home + "\x00" + clean(id.Profile, 63) + "\x00" + clean(id.Task, 63)`,
	},
	{
		name: "D10-docker-random-names", test: "TestD10ManyProcessesMakeOneContainer", in: inDocker,
		file: "sandbox/engine/docker/find.go",
		old:  `return "hermes-" + id.Key() }`,
		new:  `return fmt.Sprint("hermes-", id.Key(), time.Now().UnixNano()) }`,
	},
	{
		name: "D11-docker-paused-is-started", test: "TestD11PausedGoesOn", in: inDocker,
		file: "sandbox/engine/docker/create.go",
		old:  "	case found.State.Paused:\n",
		new:  "	case false:\n",
	},
	{
		name: "D11-docker-dead-is-started", test: "TestD11DeadIsMadeAnew", in: inDocker,
		file: "sandbox/engine/docker/create.go",
		old:  " || found.State.Dead:\n",
		new:  ":\n",
	},
	{
		name: "D27-docker-nobody-waits", test: "TestD27ClosingRemovesBeforeItReturns", in: inDocker, times: 5,
		file: "sandbox/engine/docker/remove.go",
		old:  "e.look(ctx, id) // also",
		new:  "e.inspect(ctx, id) // also",
	},
	{
		name: "D28-docker-a-probe-of-its-own", test: "TestD28LookingMakesNoContainer", in: inDocker,
		file: "sandbox/manager.go",
		old:  "	posture, err := m.posture(ctx, id, info.Spec)\n",
		new:  "	m.engine.Create(ctx, Identity{Home: id.Home, Task: \"prompt\"}, info.Spec)\n	posture, err := m.posture(ctx, id, info.Spec)\n",
	},
	{
		name: "D31-docker-files-stay", test: "TestD31PurgeRemovesWhatNoContainerHas", in: inDocker,
		file: "sandbox/engine/docker/purge.go",
		old:  "		if making[dir] || isMounted(all, dir) {\n",
		new:  "		if dir != \"\" || making[dir] || isMounted(all, dir) {\n",
	},
	{
		name: "D31-docker-files-in-use-go", test: "TestD31PurgeRemovesWhatNoContainerHas", in: inDocker,
		file: "sandbox/engine/docker/purge.go",
		old:  "making[dir] || isMounted(all, dir)",
		new:  "making[dir] || isMounted(all[:0], dir)",
	},
	{
		name: "docker-no-answer-means-none", test: "TestALookupThatFailsIsNeverACreation", in: inDocker,
		file: "sandbox/engine/docker/find.go",
		old:  "	if err != nil {\n		return nil, explain(err)\n	}\n	return all.Items, nil\n",
		new:  "	if err != nil {\n		return nil, nil\n	}\n	return all.Items, nil\n",
	},
	{
		name: "docker-a-second-container", test: "TestAStartThatFailsIsNeverASecondContainer", in: inDocker,
		file: "sandbox/manager.go",
		old:  "	case info.State == Stopped:\n		_, err = m.engine.Start(ctx, id, spec)\n",
		new:  "	case info.State == Stopped:\n		if _, err = m.engine.Start(ctx, id, spec); err != nil {\n			m.engine.Remove(ctx, id, false)\n			_, err = m.engine.Create(ctx, id, spec)\n		}\n",
	},
	{
		name: "docker-a-name-is-enough", test: "TestANameThatIsTakenByAnother", in: inDocker,
		file: "sandbox/engine/docker/find.go",
		old:  "	if c := found.Container; !isOf(c.Config.Labels, id) {",
		new:  "	if c := found.Container; c.Config == nil {",
	},
	{
		name: "docker-the-agents-of-other-homes", test: "TestContainersOfTheAgentItself", in: inDocker,
		file: "sandbox/engine/docker/foreign.go",
		old:  "		if m.Destination == sandbox.Home && ",
		new:  "		if m.Destination == \"\" && ",
	},
	{
		name: "docker-renamed-is-lost", test: "TestContainerChangedBetweenCommands", in: inDocker,
		file: "sandbox/engine/docker/find.go",
		old:  "		return e.lookByLabels(ctx, id)\n",
		new:  "		return container.InspectResponse{}, sandbox.ErrNotFound\n",
	},
}
