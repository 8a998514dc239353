package main

// What a backend's process does with the pipes, secrets and calls that it is given.
var hostVariants = []variant{
	{
		name: "backend-prints-among-answers", test: "TestRubbishIsNoMessage", in: "runtime",
		file: "runtime/host/hermes_host/pipes.py",
		old:  "    os.dup2(2, 1)\n",
		new:  "",
	},
	{
		name: "backend-reads-what-we-are-asked", test: "TestRubbishIsNoMessage", in: "runtime",
		file: "runtime/host/hermes_host/pipes.py",
		old:  "    os.dup2(nothing, 0)\n",
		new:  "",
	},
	{
		name: "backend-children-hold-its-pipes", test: "TestTheEndOfInputEndsItAtOnce", in: "runtime",
		file: "runtime/host/hermes_host/pipes.py",
		old:  "    os.register_at_fork(after_in_child=lambda: _close(ours))\n",
		new:  "",
	},
	{
		name: "backend-lists-when-it-is-loaded", test: "TestToolsAreListedBeforeTheSDKIsLoaded", in: "runtime",
		file: "runtime/host/hermes_host/adapter.py",
		old:  "threading.Thread(target=_load, args=(module, server), daemon=True).start()",
		new:  "_load(module, server)",
	},
	{
		name: "backend-cancelled-calls-block", test: "TestACancelledCallHasNoAnswer", in: "runtime",
		file: "runtime/host/hermes_host/server.py",
		old:  "        self._lost += 1\n        if self._lost > LOST:",
		new:  "        self._workers += 1\n        if self._lost > LOST:",
	},
	{
		name: "backend-answers-cancelled-calls", test: "TestACancelledCallHasNoAnswer", in: "runtime",
		file: "runtime/host/hermes_host/server.py",
		old:  "            if call.wanted:\n                self._write(answer)",
		new:  "            if answer:\n                self._write(answer)",
	},
	{
		name: "backend-secrets-in-answers", test: "TestWhatAToolRaisesIsItsAnswer", in: "runtime",
		file: "runtime/host/hermes_host/server.py",
		old:  `" ".join(credential.hide(line).split())`,
		new:  `" ".join(line.split())`,
	},
	{
		name: "backend-parts-of-secrets", test: "TestNoPartOfASecretIsShown", in: "runtime",
		file: "runtime/host/hermes_host/api.py",
		old:  `credential.hide(said(error))`,
		new:  `said(error)`,
	},
	{
		name: "backend-failures-without-end", test: "TestWhateverIsRaisedIsAnswered", in: "runtime",
		file: "runtime/host/hermes_host/server.py",
		old:  `.split())[:LINE]`,
		new:  `.split())`,
	},
	{
		name: "backend-closes-files-of-grandchildren", test: "TestTheChildrenOfChildrenKeepTheirFiles", in: "runtime",
		file: "runtime/host/hermes_host/pipes.py",
		old:  "lambda: _close(ours)",
		new:  "lambda: _close(list(ours))",
	},
	{
		name: "backend-secrets-in-tracebacks", test: "TestWhatAToolRaisesIsItsAnswer", in: "runtime",
		file: "runtime/host/hermes_host/server.py",
		old:  "credential.hide(traceback.format_exc())",
		new:  "traceback.format_exc()",
	},
	{
		name: "backend-half-characters", test: "TestAnswersAreUTF8AndMayBeLarge", in: "runtime",
		file: "runtime/host/hermes_host/server.py",
		old:  `line.encode("utf-8", "replace")`,
		new:  `line.encode("utf-8", "surrogatepass")`,
	},
	{
		name: "backend-waits-for-its-api-for-ever", test: "TestAdaptersWithStandIns", in: "runtime",
		file: "runtime/host/hermes_adapters/exa.py",
		old:  "timeout=api.TIMEOUT,",
		new:  "timeout=None,",
	},
}
