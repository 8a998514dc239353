package main

import "slices"

// The faults, by the number that their test carries where it has one.
var variants = slices.Concat(sandboxVariants, dockerVariants)

var sandboxVariants = []variant{
	{
		name: "D01-main-process-only", test: "TestD01InterruptEndsTheWholeTree",
		file: "internal/guest/tree_linux.go",
		old:  "	return t.killAll()\n}\n\n// killBound",
		new:  "	return nil\n}\n\n// killBound",
	},
	{
		name: "D01-first-thread-only", test: "TestD01TimeoutEndsTheWholeTree",
		file: "internal/guest/proc_linux.go",
		old:  " && number(fields[threads]) <= 1",
		new:  "",
	},
	{
		name: "D01-spoilt-marks-escape", test: "TestD01InterruptEndsTheWholeTree",
		file: "internal/guest/marktree_linux.go",
		old:  "case depth == 0 && !t.marks.maybe(k, t.number):",
		new:  "case depth == 0:",
	},
	{
		name: "D02-no-journal", test: "TestD02LostCommandIsNeverRunAgain",
		file: "internal/guest/requests_linux.go",
		old:  "	s.journal.add(c.id)\n",
		new:  "",
	},
	{
		name: "D03-run-again", test: "TestD03BrokenLinesRunNothingTwice",
		file: "sandbox/execution.go",
		old:  "conn.openCommand(ctx, wire.TypeAttach, wire.Attach{ID: x.request.ID, Stdout: x.stdout, Stderr: x.stderr})",
		new:  "conn.openCommand(ctx, wire.TypeExec, func() wire.Exec { r := x.request; r.ID = randomID(); return r }())",
	},
	{
		name: "D05-processes-do-not-count", test: "TestD05SandboxInUseIsNotReaped",
		file: "internal/wire/messages.go",
		old:  " || s.Processes > 0 }",
		new:  " }",
	},
	{
		name: "D09-no-digest", test: "TestD09EveryNameHasItsOwnSandbox",
		file: "sandbox/identity.go",
		old:  `return clean(s, limit-13) + "-" + digest(s)`,
		new:  `return clean(s, limit)`,
	},
	{
		name: "D10-no-lock", test: "TestD10ManyProcessesGetOneSandbox",
		file: "sandbox/manager.go",
		old:  `filepath.Join(dir, id.Key()+".lock")`,
		new:  `filepath.Join(dir, id.Key()+fmt.Sprint(time.Now().UnixNano())+".lock")`,
	},
	{
		name: "D15-files-only", test: "TestD15TheOverrideChoosesTheKind", in: "internal/daemon",
		file: "internal/daemon/chosen.go",
		old:  "if strings.ContainsAny(value, `/\\`) {",
		new:  "{",
	},
	{
		name: "D01-killed-cgroup-used-again", test: "TestGuestCannotBeStopped",
		file: "internal/guest/cgroups_linux.go",
		old:  " && !t.killed.Load()",
		new:  "",
	},
	{
		name: "D19-what-was-made-of-a-token-stays", test: "TestD19WhatACommandMakesOfAnInjectedValueEndsWithIt", in: "internal/guest/shellstate",
		file: "internal/guest/shellstate/merge.go",
		old:  " && !slices.Contains(start.given, n)",
		new:  "",
	},
	{
		name: "D24-first-process-only", test: "TestD24KillEndsTheWholeTree",
		file: "internal/guest/command_linux.go",
		old:  "		exit.Survivors = endTree(c.tree, end.grace)\n",
		new:  "		if end.reason != wire.ReasonKilled {\n			exit.Survivors = endTree(c.tree, end.grace)\n		} else if s.reaper.signalGroup(c.pid, syscall.SIGKILL) != nil {\n			return\n		}\n",
	},
	{
		name: "D24-login-shell", test: "TestD24SameEnvironmentAsForeground",
		file: "internal/guest/prepare_linux.go",
		old:  `"-c", req.Line}`,
		new:  `map[bool]string{true: "-lc", false: "-c"}[c.background != nil], req.Line}`,
	},
	{
		name: "D24-runs-after-a-restart", test: "TestD24RestartedGuestKnowsNoProcessIDs",
		file: "internal/guest/background_linux.go",
		old:  "	c.close(exit)\n",
		new:  "	close(c.ready)\n",
	},
	{
		name: "D24-log-grows", test: "TestD24LogsAreBounded",
		file: "internal/guest/log_linux.go",
		old:  "err != nil || l.held() > l.bound",
		new:  "err != nil",
	},
	{
		name: "D24-logs-are-never-removed", test: "TestD24LogsAreBounded",
		file: "internal/guest/background_linux.go",
		old:  "	for s.registry.together.Load() > keptLogs {\n",
		new:  "	for false {\n",
	},
	{
		name: "background-id-forgotten", test: "TestD24LogsAreBounded",
		file: "internal/guest/background_linux.go",
		old:  "		s.remember(c)\n",
		new:  "		delete(s.commands, c.id)\n",
	},
	{
		name: "background-started-twice", test: "TestCallerKilledWhileItStartsProcesses",
		file: "internal/guest/requests_linux.go",
		old:  "	if c, ok := s.commands[c.id]; ok {\n		return c, true, nil",
		new:  "	if c, ok := s.commands[c.id]; ok && c.background == nil {\n		return c, true, nil",
	},
	{
		name: "log-loses-its-parts", test: "TestGuestKilledWhileItLogs",
		file: "internal/guest/log_linux.go",
		old:  "	if before := l.parts[i-1]; before.start+before.length != l.parts[i].start {",
		new:  "	if before := l.parts[i-1]; before.start+before.length == l.parts[i].start {",
	},
	{
		name: "unread-input-hides-the-caller", test: "TestCallerKilledWhileItsCommandDoesNotRead",
		file: "internal/guest/requests_linux.go",
		old:  "			if gone() {",
		new:  "			if false {",
	},
	{
		name: "accept-ends-the-guest", test: "TestGuestSurvivesWithoutDescriptors",
		file: "internal/guest/doors_linux.go",
		old:  "			time.Sleep(acceptPause)",
		new:  "			return err",
	},
	{
		name: "deep-trees-stay", test: "TestHostileFilesCanBeRemoved",
		file: "internal/rmtree/rmtree.go",
		old:  "const deepest = 64",
		new:  "const deepest = 1 << 30",
	},
	{
		name: "unclaimed-signals-end-the-guest", test: "TestGuestSurvivesEverySignal", times: 30,
		file: "internal/guest/signals_linux.go",
		old:  "append(faults, spawn.Unclaimed[:]...)",
		new:  "append(faults, spawn.Unclaimed[:0]...)",
	},
	{
		name: "signals-end-the-guest", test: "TestGuestSurvivesEverySignal",
		file: "internal/guest/signals_linux.go",
		old:  "		ignoreSignal(s)\n",
		new:  "		_ = s\n",
	},
	{
		name: "D26-trials-are-not-believed", test: "TestD26WhatIsFoundOtherwiseRefutesTheEngine", in: "sandbox",
		file: "sandbox/findings.go",
		old:  "	f.Value, f.Enforced = found, false\n",
		new:  "	f.Value = found\n",
	},
	{
		name: "D29-settings-of-some-commands-only", test: "TestD29EveryCommandMakesTheSameContainer", in: "internal/cli",
		file: "internal/cli/obtain.go",
		old:  "	spec = configured.container.complete(spec)\n",
		new:  "	if len(spec.Chosen) == 0 {\n		spec = configured.container.complete(spec)\n	}\n",
	},
	{
		name: "D26-overrides-leave-facts-in-force", test: "TestD26AWeakenedFactIsNotEnforced", in: "sandbox",
		file: "sandbox/deviations.go",
		old:  "f.Enforced && d.Enforced",
		new:  "f.Enforced",
	},
	{
		name: "D26-rights-are-not-judged", test: "TestD26EveryWeakeningOverrideIsADeviation", in: "sandbox",
		file: "sandbox/deviations.go",
		old:  "		w.rights(c)\n",
		new:  "",
	},
	{
		name: "D12-one-limit-takes-all", test: "TestD12EachLimitHasItsOwnVerdict", in: "sandbox/engine/docker",
		file: "sandbox/engine/docker/limits.go",
		old:  "	if !a.CPUs {\n",
		new:  "	if !a.CPUs || !a.Memory || !a.Pids {\n",
	},
	{
		name: "D12-no-answer-means-no-limits", test: "TestD12AQuestionThatFailsTurnsNoLimitOff", in: "sandbox/engine/docker",
		file: "sandbox/engine/docker/limits.go",
		old:  "return abilities{Limits: daemon.Limits{Memory: true, Swap: true, CPUs: true, Pids: true}}",
		new:  "return abilities{}",
	},
	{
		name: "D13-every-failure-is-a-verdict", test: "TestD13AFailedCreationIsNoVerdict", in: "sandbox/engine/docker",
		file: "sandbox/engine/docker/limits.go",
		old:  "	if refused {\n",
		new:  "	if refused = true; refused {\n",
	},
	{
		name: "D26-what-the-daemon-has-is-not-read", test: "TestD26WhatNobodyAskedForIsADeviation", in: "sandbox/engine/docker",
		file: "sandbox/engine/docker/found.go",
		old:  "NewPrivileges: !isSealed(h),",
		new:  "",
	},
	{
		name: "D26-said-twice", test: "TestD26OverridesShowOnceInThePosture", in: "sandbox/engine/docker",
		file: "sandbox/engine/docker/found.go",
		old:  "return slices.Contains(asked, f) })",
		new:  "return len(asked) < 0 })",
	},
	{
		name: "D30-memory-is-not-shared-out", test: "TestD30AFullTmpLeavesRoomForCommands", in: "sandbox/engine/docker",
		file: "sandbox/engine/docker/memory.go",
		old:  "		if m.spec.Limits.Memory > 0 {\n",
		new:  "		if false {\n",
	},
	{
		name: "D07-containers-are-not-compared", test: "TestD07EveryFieldOfAContainerIsInTheHashAndIsSaid", in: "sandbox",
		file: "sandbox/spec.go",
		old:  "append(diff, a.Container.difference(b.Container)...)",
		new:  "append(diff, a.Container.difference(a.Container)...)",
	},
	{
		name: "traced-commands-stay-stopped", test: "TestCommandThatAsksToBeTracedEndsAsAnyOther",
		file: "internal/guest/reaper_linux.go",
		old:  "	if status.Stopped() {",
		new:  "	if false {",
	},
	{
		name: "escape-no-landlock", test: "TestNothingGetsOut", in: "test/escape",
		file: "internal/guest/jail/inner_linux.go",
		old:  "restrictSelf(ruleset); err",
		new:  "error(nil); err",
	},
	{
		name: "escape-nested-user-namespaces", test: "TestNothingGetsOut", in: "test/escape",
		file: "internal/guest/jail/inner_linux.go",
		old:  `"/proc/sys/user/max_user_namespaces", []byte("0")`,
		new:  `"/proc/sys/user/max_user_namespaces", []byte("1000")`,
	},
}
