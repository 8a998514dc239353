package main

// The doors: the gateway's gate and API, and MCP.
var doorVariants = []variant{
	{
		name: "gate-without-rate", test: "TestTooManyRequestsASecond", in: "internal/gateway",
		file: "internal/gateway/gate.go",
		old:  "k.rate.Take(struct{}{}); wait > 0 {",
		new:  "k.rate.Take(struct{}{}); wait < 0 {",
	},
	{
		name: "gate-keeps-places", test: "TestTooManyRequestsAtATime", in: "internal/gateway",
		file: "internal/gateway/gate.go",
		old:  "	defer k.places.Give()\n",
		new:  "",
	},
	{
		name: "gate-keeps-strangers", test: "TestOnlyTheKeyKeepsAConnection", in: "internal/gateway",
		file: "internal/gateway/gate.go",
		old:  "		h.Set(\"Connection\", \"close\") // only who",
		new:  "		// only who",
	},
	{
		name: "strangers-keep-others-out", test: "TestConnectionsAreBounded", in: "internal/gateway",
		file: "internal/gate/connections.go",
		old:  "c.strangers.Front()",
		new:  "c.strangers.Back()",
	},
	{
		name: "old-news-for-who-asks", test: "TestTheAPIOfAProfileIsServedHere", in: "internal/dashboard/house",
		file: "internal/dashboard/house/overview.go",
		old:  "h.sight.sandboxes.now().boxes)",
		new:  "h.sight.sandboxes.fresh().boxes)",
	},
	{
		name: "cancelled-and-answered", test: "TestACancelledRequestIsNotAnswered", in: "internal/gateway/mcp",
		file: "internal/gateway/mcp/lines.go",
		old:  "if l.cancelled(response.ID) {",
		new:  "if false {",
	},
	{
		name: "drain-in-silence", test: "TestDrainingTellsThoseWhoFollow", in: "internal/gateway",
		file: "internal/gateway/api/api.go",
		old:  "	a.drain.Do(func() { close(a.draining) })\n",
		new:  "",
	},
	{
		name: "drain-without-end", test: "TestDrainingEndsWhatCannotGoOn", in: "internal/gateway",
		file: "internal/gateway/api/api.go",
		old:  "	defer a.end()\n",
		new:  "",
	},
	{
		name: "terminal-of-one-size", test: "TestATerminal", in: "internal/gateway",
		file: "internal/gateway/api/attachinput.go",
		old:  "			s.resize(*request.Term)\n",
		new:  "",
	},
	{
		name: "socket-held-to-be-gone", test: "TestASlowReaderOfASocketIsNotGone", in: "internal/gateway/api",
		file: "internal/gateway/api/attach.go",
		old:  "	s.sending.Add(1)\n	defer s.sending.Add(-1)\n",
		new:  "",
	},
	{
		name: "figures-of-made-up-routes", test: "TestFiguresSayWhatWasDone", in: "internal/gateway",
		file: "internal/gateway/api/metrics.go",
		old:  "m.Observe(r.Pattern, ",
		new:  "m.Observe(r.URL.Path, ",
	},
	{
		name: "refusal-into-the-void", test: "TestARefusalReachesWhoStillSends", in: "internal/gateway/api",
		file: "internal/gateway/api/flow.go",
		old:  "		io.Copy(io.Discard, body)\n",
		new:  "",
	},
	{
		name: "position-beyond-the-end", test: "TestAPositionBeyondTheEndIsRefused", in: "internal/gateway",
		file: "internal/guest/requests_linux.go",
		old:  "stream.at > end {",
		new:  "stream.at > end && false {",
	},
	{
		name: "mcp-one-session-for-all", test: "TestEveryClientHasASessionOfItsOwn", in: "internal/gateway/mcp",
		file: "internal/gateway/mcp/session.go",
		old:  "	rand.Read(b[:])\n",
		new:  "	rand.Read(b[:0])\n",
	},
	{
		name: "mcp-cancelled-goes-on", test: "TestCancellationEndsTheWholeTree", in: "internal/gateway/mcp",
		file: "internal/gateway/mcp/session.go",
		old:  "	ctx, cancel := context.WithCancel(ctx)\n	stop := context.AfterFunc(d.life, cancel)",
		new:  "	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))\n	stop := context.AfterFunc(d.life, cancel)",
	},
	{
		name: "mcp-gone-goes-on", test: "TestCallsOfAClientThatDoesNotComeBackAreEnded", in: "internal/gateway/mcp",
		file: "internal/gateway/mcp/http.go",
		old:  "			defer s.depart(d.abandon)\n",
		new:  "",
	},
	{
		name: "mcp-task-of-the-last-request", test: "TestAClientNamesItsTask", in: "internal/gateway/mcp",
		file: "internal/gateway/mcp/http.go",
		old:  "s != nil && named && s.task != task {",
		new:  "s != nil && named && false {",
	},
	{
		name: "mcp-quiet-about-processes", test: "TestWhatHappensInTheBackgroundReachesTheModel", in: "internal/gateway/mcp",
		file: "internal/gateway/mcp/tools.go",
		old:  "notices := s.tools.Notices(); len(notices) > 0 {",
		new:  "notices := s.tools.Notices(); len(notices) < 0 {",
	},
	{
		name: "mcp-ends-at-once", test: "TestShutdownLetsCallsFinishAndThenInterrupts", in: "internal/gateway/mcp",
		file: "internal/gateway/mcp/mcp.go",
		old:  "	select {\n	case <-d.drained:\n	case <-ctx.Done():\n	}\n	d.stop()",
		new:  "	d.stop()",
	},
}
