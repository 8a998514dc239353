//go:build linux

package main

// Names of the profile that no 64-bit architecture of ours has: the wide
// variants and the multiplexers of 32-bit ABIs.
var only32Bit = []string{
	"_llseek", "_newselect", "chown32", "fadvise64_64", "fchown32", "fcntl64",
	"fstat64", "fstatat64", "fstatfs64", "ftruncate64", "getegid32",
	"geteuid32", "getgid32", "getgroups32", "getresgid32", "getresuid32",
	"getuid32", "ipc", "lchown32", "lstat64", "mmap2", "recv", "send",
	"sendfile64", "setfsgid32", "setfsuid32", "setgid32", "setgroups32",
	"setregid32", "setresgid32", "setresuid32", "setreuid32", "setuid32",
	"sigprocmask", "sigreturn", "socketcall", "stat64", "statfs64", "stime",
	"truncate64", "ugetrlimit", "umount", "waitpid",
}

// The calls with 64-bit times that exist on 32-bit ABIs only.
var only32BitTime = []string{
	"clock_adjtime64", "clock_getres_time64", "clock_gettime64",
	"clock_nanosleep_time64", "clock_settime64", "futex_time64",
	"io_pgetevents_time64", "mq_timedreceive_time64", "mq_timedsend_time64",
	"ppoll_time64", "pselect6_time64", "recvmmsg_time64",
	"rt_sigtimedwait_time64", "sched_rr_get_interval_time64",
	"semtimedop_time64", "timer_gettime64", "timer_settime64",
	"timerfd_gettime64", "timerfd_settime64", "utimensat_time64",
}

// Calls of one foreign architecture that the profile names without a condition.
var elsewhere = []string{"riscv_hwprobe"}

// Calls that the profile allows on arm64 for its 32-bit mode, which the filter
// refuses as a whole.
var armPrivate = []string{
	"arm_fadvise64_64", "arm_sync_file_range", "breakpoint", "cacheflush",
	"set_tls", "sync_file_range2",
}

// Old and x86-only calls that the generic table, and so arm64, never had.
var notGeneric = []string{
	"access", "alarm", "chmod", "chown", "creat", "dup2", "epoll_create",
	"epoll_ctl_old", "epoll_wait", "epoll_wait_old", "eventfd", "fork",
	"futimesat", "get_thread_area", "getdents", "getpgrp", "inotify_init",
	"ioperm", "iopl", "lchown", "link", "lstat", "mkdir", "mknod", "open",
	"pause", "pipe", "poll", "readlink", "rename", "rmdir", "select",
	"set_thread_area", "signalfd", "stat", "symlink", "time", "unlink",
	"uretprobe", "utime", "utimes", "vfork",
}
