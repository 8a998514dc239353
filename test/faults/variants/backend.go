package main

// inBackend is where the tests of backends are.
const inBackend = "internal/addon/backend"

// What a backend must not be able to do, to us, to its callers or to another one.
var backendVariants = []variant{
	{
		name: "backend-any-encoding", test: "TestMessagesThatAreNone", in: inBackend,
		file: "internal/addon/backend/line.go",
		old:  "if !utf8.Valid(text) {",
		new:  "if !utf8.Valid(nil) {",
	},
	{
		name: "backend-broken-messages-are-words", test: "TestMessagesThatAreNone", in: inBackend,
		file: "internal/addon/backend/line.go",
		old:  "	case meant(text):\n",
		new:  "	case meant(nil):\n",
	},
	{
		name: "backend-words-are-messages", test: "TestRubbishAmongTheMessages", in: inBackend,
		file: "internal/addon/backend/line.go",
		old:  "(text[0] == '{' || text[0] == '[') && bytes.Contains(text, []byte(`\"jsonrpc\"`))",
		new:  "(text[0] == '{' || text[0] == '[')",
	},
	{
		name: "backend-messages-without-a-bound", test: "TestAnAnswerThatIsTooLarge", in: inBackend,
		file: "internal/addon/backend/line.go",
		old:  "if int64(len(o.partial)+len(rest)) > o.most {",
		new:  "if int64(len(o.partial)+len(rest)) > 20*o.most {",
	},
	{
		name: "backend-writes-wait-for-ever", test: "TestABackendThatDoesNotRead", in: inBackend,
		file: "internal/addon/backend/line.go",
		old:  "		return errEnded\n	case <-ctx.Done():\n		return ctx.Err()\n	}\n}\n\n// Close ends",
		new:  "		return errEnded\n	}\n}\n\n// Close ends",
	},
	{
		name: "backend-asks-without-a-bound", test: "TestABackendThatAsks", in: inBackend,
		file: "internal/addon/backend/line.go",
		old:  "if o.asked.Add(1) > mostAsked {",
		new:  "if o.asked.Add(1) < 0 {",
	},
	{
		name: "backend-digits-are-lost", test: "TestABackendAnswers", in: inBackend,
		file: "internal/addon/backend/answers.go",
		old:  "		*raw = response.Result\n",
		new:  "		var value any\n		json.Unmarshal(response.Result, &value)\n		*raw, _ = json.Marshal(value)\n",
	},
	{
		name: "backend-secrets-in-errors", test: "TestCrashDuringACall", in: inBackend,
		file: "internal/addon/backend/process.go",
		old:  "return b.secrets.Hide(b.words.Text())",
		new:  "return b.words.Text()",
	},
	{
		name: "backend-secrets-in-failed-results", test: "TestAToolThatFails", in: inBackend,
		file: "internal/addon/backend/call.go",
		old:  "		return b.secrets.Hide(v)\n",
		new:  "		return v\n",
	},
	{
		name: "backend-secrets-in-arguments", test: "TestWhereCredentialsAre", in: inBackend,
		file: "internal/addon/backend/process.go",
		old:  "Argv: append(argv, b.launch.Argv...), Env: b.launch.Env,",
		new:  "Argv: append(append(argv, b.launch.Argv...), b.launch.Env[\"API_KEY\"]), Env: b.launch.Env,",
	},
	{
		name: "backend-twice-the-memory", test: "TestALeakEndsAtItsBound", in: inBackend,
		file: "internal/addon/backend/process.go",
		old:  "b.launch.Bounds.Memory>>10",
		new:  "b.launch.Bounds.Memory>>9",
	},
	{
		name: "backend-children-stay", test: "TestChildrenEndWithTheBackend", in: inBackend,
		file: "internal/addon/backend/process.go",
		old:  "	b.box.Close()\n	removing",
		new:  "	go func() {\n		time.Sleep(time.Second)\n		b.box.Close()\n		b.manager.Remove(context.Background(), b.box.Identity(), true)\n	}()\n	return\n	removing",
	},
	{
		name: "backend-a-caller-takes-it-along", test: "TestACallerThatGivesUp", in: inBackend,
		file: "internal/addon/backend/call.go",
		old:  "	case ctx.Err() != nil:\n		return Result{}, ctx.Err()\n",
		new:  "	case ctx.Err() != nil:\n		b.end(\"its caller left\")\n		return Result{}, ctx.Err()\n",
	},
	{
		name: "pool-all-variables", test: "TestTheEnvironmentOfABackend", in: inBackend,
		file: "internal/addon/backend/pool.go",
		old:  "f.Given(func(name string) string { return vars[name] })",
		new:  "vars",
	},
	{
		name: "pool-our-environment", test: "TestTheEnvironmentOfABackend", in: inBackend,
		file: "internal/addon/backend/launch.go",
		old:  `value != "" && slices.Contains(Passed, name)`,
		new:  `value != ""`,
	},
	{
		name: "pool-credentials-are-shared", test: "TestOtherCredentialsAreAnotherProcess", in: inBackend,
		file: "internal/addon/backend/slot.go",
		old:  "	hash.Sum(k.given[:0])\n",
		new:  "",
	},
	{
		name: "pool-generations-are-shared", test: "TestAGenerationIsReplacedWhileABackendRuns", in: inBackend,
		file: "internal/addon/backend/slot.go",
		old:  "	k := key{feature: feature, generation: generation}\n",
		new:  "	k := key{feature: feature}\n",
	},
	{
		name: "pool-a-hang-is-called-again", test: "TestAHangIsFollowedByANewProcess", in: inBackend,
		file: "internal/addon/backend/pool.go",
		old:  "	case errors.Is(err, ErrHangs):\n",
		new:  "	case err != nil && p.closed:\n",
	},
	{
		name: "pool-a-hang-ends-others", test: "TestAHangIsFollowedByANewProcess", in: inBackend,
		file: "internal/addon/backend/pool.go",
		old:  "			p.failed(s.key, err)\n		}\n		p.retire(s)\n",
		new:  "			p.failed(s.key, err)\n		}\n		p.retire(s)\n		s.dismiss()\n",
	},
	{
		name: "pool-no-patience", test: "TestAProcessThatFailsAgainAndAgainIsLeftAlone", in: inBackend,
		file: "internal/addon/backend/failures.go",
		old:  "	if times < 2 {",
		new:  "	if times < 20 {",
	},
	{
		name: "pool-crashes-are-not-noted", test: "TestAProcessThatCrashesAgainAndAgainIsLeftAlone", in: inBackend,
		file: "internal/addon/backend/slot.go",
		old:  "	if s.ended() && !s.buried && !p.closed {",
		new:  "	if s.ended() && s.err != nil && !s.buried && !p.closed {",
	},
	{
		name: "pool-one-process-each", test: "TestManyFirstCallersStartOneProcess", in: inBackend,
		file: "internal/addon/backend/pool.go",
		old:  "		p.slots[k], p.running[s] = s, struct{}{}\n",
		new:  "		p.running[s] = struct{}{}\n",
	},
	{
		name: "pool-the-first-caller-takes-it-along", test: "TestAFirstCallerThatLeaves", in: inBackend,
		file: "internal/addon/backend/pool.go",
		old:  "			p.give(s, ctx.Err())\n",
		new:  "			p.give(s, ErrHangs)\n",
	},
	{
		name: "pool-idle-at-work", test: "TestAnIdleProcessIsStopped", in: inBackend,
		file: "internal/addon/backend/pool.go",
		old:  "	if s.calls > 0 {\n		return\n	}\n",
		new:  "	if s.calls > 1 {\n		return\n	}\n",
	},
	{
		name: "pool-without-a-bound", test: "TestTheNumberOfProcessesIsBounded", in: inBackend,
		file: "internal/addon/backend/pool.go",
		old:  "	if len(p.slots) < p.o.Most {",
		new:  "	if len(p.slots) < 2*p.o.Most {",
	},
	{
		name: "pool-hangs-for-the-impatient", test: "TestAProcessThatAllGiveUpOnIsReplaced", in: inBackend,
		file: "internal/addon/backend/pool.go",
		old:  "s.abandoned == mostAbandoned {",
		new:  "s.abandoned < 0 {",
	},
	{
		name: "backend-tools-without-a-bound", test: "TestToolsThatTakeTooMuch", in: inBackend,
		file: "internal/addon/backend/call.go",
		old:  "size > largestTools {",
		new:  "size < 0 {",
	},
	{
		name: "backend-sandboxes-outlive-the-machine", test: "TestAKilledBackendLeavesNothingAfterARestartOfTheMachine", in: inBackend,
		file: "sandbox/engine/internal/host/sweep_linux.go",
		old:  "	forgotten, err := c.sweepForgotten(ctx, home)\n",
		new:  "	forgotten := 0\n	_ = c.sweepForgotten\n",
	},
}
