package main

// Of the store of add-ons.
var storeVariants = []variant{
	{
		name: "D33-one-directory-for-all-ABIs", test: "TestD33EveryABIHasItsOwnDirectory", in: "internal/addon/store",
		file: "internal/addon/store/store.go",
		old:  "filepath.Join(s.private(), s.tag)",
		new:  `filepath.Join(s.private(), "c-python")`,
	},
	{
		name: "D34-removed-where-it-is", test: "TestD34WhatCannotBeRemovedStaysWhole", in: "internal/addon/store",
		file: "internal/addon/store/gc.go",
		old:  "	away, err := w.depart(dir)\n	if err != nil {\n		return err\n	}\n	w.warn(removeTree(away))\n	return nil\n",
		new:  "	return removeTree(dir)\n",
	},
	{
		name: "D34-half-counts", test: "TestD34HalfAGenerationCountsForNothing", in: "internal/addon/store",
		file: "internal/addon/store/has.go",
		old:  "		if !in.has(",
		new:  "		if false && !in.has(",
	},
	{
		name: "D34-half-is-rolled-back-to", test: "TestD34HalfAGenerationCountsForNothing", in: "internal/addon/store",
		file: "internal/addon/store/history.go",
		old:  "	if len(problems) > 0 {",
		new:  "	if len(problems) > 1000 {",
	},
	{
		name: "D35-current-before-complete", test: "TestD35AKilledWriterLeavesTheOldOrTheNew", in: "internal/addon/store",
		file: "internal/addon/store/publish.go",
		old:  "	if err := syncAll(staged.Dir); err != nil {\n		return g, err\n	}\n",
		new:  "	if err := w.swap(g); err != nil {\n		return g, err\n	}\n	if err := syncAll(staged.Dir); err != nil {\n		return g, err\n	}\n",
	},
	{
		name: "D35-not-on-the-disk", test: "TestD35APowerCutLeavesTheOldOrTheNew", in: "internal/addon/store",
		file: "internal/addon/store/publish.go",
		old:  "	if err := syncAll(staged.Dir); err != nil {\n		return g, err\n	}\n",
		new:  "",
	},
	{
		name: "D35-current-not-on-the-disk", test: "TestD35APowerCutLeavesTheOldOrTheNew", in: "internal/addon/store",
		file: "internal/addon/store/current.go",
		old:  "	return atomicfile.SyncDir(w.own())\n",
		new:  "	return nil\n",
	},
	{
		name: "D35-staged-in-its-place", test: "TestD35NothingIsSeenBeforeItIsPublished", in: "internal/addon/store",
		file: "internal/addon/store/writer.go",
		old:  "	return Staged{dir}, nil\n",
		new:  "	if g, err := w.look(); err == nil {\n		return Staged{g.Dir}, nil\n	}\n	return Staged{dir}, nil\n",
	},
	{
		name: "a-group-with-others-in-it", test: "TestWhoElseIsInAGroup", in: "internal/addon/store",
		file: "internal/addon/store/group_linux.go",
		old:  "return !known || who.UID != 0 && who.UID != os.Geteuid()",
		new:  "return known && who.UID == os.Geteuid()+1",
	},
	{
		name: "a-list-beside-the-mode", test: "TestAVolumeOfAnOrchestratorsGroupIsUsed", in: "internal/addon/store",
		file: "internal/addon/store/group_linux.go",
		old:  "!errors.Is(err, unix.ENODATA) && !errors.Is(err, unix.ENOTSUP)",
		new:  "err != nil && !errors.Is(err, unix.ENODATA) && !errors.Is(err, unix.ENOTSUP)",
	},
	{
		name: "D36-lock-for-many", test: "TestD36OneWriterAtATime", in: "internal/addon/store",
		file: "internal/rundir/lock_unix.go",
		old:  "syscall.LOCK_EX|syscall.LOCK_NB",
		new:  "syscall.LOCK_SH|syscall.LOCK_NB",
	},
	{
		name: "D45-failures-from-the-future", test: "TestD45AFailureIsRememberedForAWhile", in: "internal/addon/store",
		file: "internal/addon/store/failures.go",
		old:  "!now.Before(f.At) && ",
		new:  "",
	},
	{
		name: "D45-failures-are-forgotten", test: "TestD45AFailureIsRememberedForAWhile", in: "internal/addon/store",
		file: "internal/addon/store/failures.go",
		old:  "now.Before(f.Until)",
		new:  "now.Before(f.At)",
	},
	{
		name: "D50-wanted-is-what-is-there", test: "TestD50WhatIsWantedIsRemembered", in: "internal/addon/store",
		file: "internal/addon/store/records.go",
		old:  "append(after, next...)",
		new:  "append(after[:0], next...)",
	},
}
