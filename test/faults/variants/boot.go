package main

// A container's life.
var bootVariants = []variant{
	{
		name: "B-main-program-by-root-alone", test: "TestWithoutTheRightToSignal", in: "test/boot",
		file: "internal/mainprog/mainprog_linux.go",
		old:  "return tree.Signal(pid, sig) })",
		new:  "_ = tree.Signal; return syscall.Kill(pid, sig) })",
	},
	{
		name: "B-rest-by-root-alone", test: "TestWithoutTheRightToSignal", in: "test/boot",
		file: "internal/supervise/reaper/below_linux.go",
		old:  "_ = tree.Signal(pid, sig)",
		new:  "_, _ = tree.Signal, syscall.Kill(pid, sig)",
	},
	{
		name: "B74-no-door", test: "TestAProfileOfTheHostGetsADoorWhenItsGatewayStarts", in: "internal/cli",
		file: "internal/cli/gatewayrun_linux.go",
		old:  "options.Problem == nil && lacksDoor(g.name, options.Settings)",
		new:  "options.Problem == nil && lacksDoor(g.name, options.Settings) && false",
	},
	{
		name: "B-native-is-always-needed", test: "TestOnlyTheChosenEngineCanBeBad", in: "internal/doctor",
		file: "internal/doctor/engine_linux.go",
		old:  "	if m.config.Engine == config.DefaultEngine {\n		return found",
		new:  "	if m.config.Engine != \"\" {\n		return found",
	},
}
