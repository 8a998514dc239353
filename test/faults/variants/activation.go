package main

// What the sealed interpreter does with add-ons when it starts.
var activationVariants = []variant{
	{
		name: "D33-any-abi", test: "TestD33AnotherABIIsNotOnThePath", in: "runtime",
		file: "runtime/activation/hermes_addons.py",
		old:  `tag = _imp.extension_suffixes()[0].split(".")[1]`,
		new:  `tag = [name for name in sorted(os.listdir(target + "/.hermes")) if "-" in name][0]`,
	},
	{
		name: "D40-site-directory", test: "TestD40NothingOfTheStoreRunsAtStartUp", in: "runtime",
		file: "runtime/activation/hermes_addons.py",
		old:  "    sys.path[:] =",
		new:  "    __import__(\"site\").addsitedir(path)\n    sys.path[:] =",
	},
	{
		name: "D40-a-name-of-start-up", test: "TestD40NothingOfTheStoreRunsAtStartUp", in: "runtime",
		file: "runtime/build.py",
		old:  `if file.suffix in (".py", ".pth"):`,
		new:  `if file.suffix in (".py", ".pth") and file.name != "apport_python_hook.py":`,
	},
	{
		name: "D40-order-alone", test: "TestD40PackagesOfTheCoreAreClosed", in: "runtime",
		file: "runtime/activation/hermes_addons.py",
		old:  "    _guard(target)\n",
		new:  "",
	},
	{
		name: "D40-order-alone-in-the-store", test: "TestD40AWorkingDirectoryInTheStoreShadowsNothing", in: "runtime",
		file: "runtime/activation/hermes_addons.py",
		old:  `path != target and not path.startswith(target + "/") or`,
		new:  `path != sys.path[-1] or`,
	},
	{
		name: "addons-come-first", test: "TestTheCoresModulesWin", in: "runtime",
		file: "runtime/activation/hermes_addons.py",
		old:  "[entry for entry in sys.path if entry != path] + [path]",
		new:  "[path] + sys.path",
	},
	{
		name: "addons-of-a-user-for-root", test: "TestAStoreOfAnotherUserIsNotUsed", in: "runtime",
		file: "runtime/activation/hermes_addons.py",
		old:  "found.st_uid not in (0, os.geteuid()) or not _only_ours(fd, found):",
		new:  "not _only_ours(fd, found):",
	},
	{
		name: "addons-of-any-group", test: "TestAVolumeOfAnOrchestratorsGroupIsUsed", in: "runtime",
		file: "runtime/activation/hermes_addons.py",
		old:  "    if gid == 0 or gid != os.getegid() and gid not in os.getgroups():\n        return False\n",
		new:  "",
	},
	{
		name: "addons-are-written-to", test: "TestImportsWriteNothing", in: "runtime",
		file: "runtime/activation/hermes_addons.py",
		old:  "AddonLoader if loader is machinery.SourceFileLoader else loader",
		new:  "loader",
	},
}
