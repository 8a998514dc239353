package shellstate

import "strings"

// ours is the prefix of every name that a prelude makes.
const ours = "__hermes_"

// agentDefaults are added to a command's environment where the session has no
// such name. They differ from the session only in Start, so Delta never sees them.
var agentDefaults = map[string]string{
	"LANG":         "C.UTF-8",
	"AI_AGENT":     "hermes",
	"HERMES_AGENT": "1",
	"GIT_PAGER":    "cat",
	"PAGER":        "cat",
}

// isVolatile tells whether a shell changes the variable by itself, or gives it a
// meaning that ends with the process.
func isVolatile(name string) bool {
	switch name {
	case "_", "PWD", "SHLVL", "PPID", "LINENO", "RANDOM", "SRANDOM", "SECONDS",
		"EPOCHSECONDS", "EPOCHREALTIME", "BASHOPTS", "SHELLOPTS", "BASHPID",
		"BASH_ARGV0", "BASH_COMMAND", "BASH_EXECUTION_STRING", "BASH_SUBSHELL",
		"BASH_XTRACEFD", "HISTCMD", "COMP_WORDBREAKS":
		return true
	}
	return strings.HasPrefix(name, ours)
}

// isPerCommand tells whether a variable belongs to one command, whoever set it.
func isPerCommand(name string) bool {
	switch name {
	case "HERMES_UI_SESSION_ID", "HERMES_CRON_SESSION", "HERMES_DELEGATED_CHILD_CONTEXT",
		"HERMES_KERNEL_DIR", "HERMES_EXEC_ID", "AI_AGENT", "HERMES_AGENT":
		return true
	}
	for _, p := range [...]string{"HERMES_SESSION_", "HERMES_CRON_AUTO_DELIVER_", "HERMES_BROWSER_CONTROL_", "HERMES_RPC_"} {
		if strings.HasPrefix(name, p) {
			return true
		}
	}
	return false
}

// needsPrelude tells whether a shell would not take the variable from its
// environment: it resets the first four (PS4 as root), and with the last bash
// would start in posix mode, in which it does not read a prelude.
func needsPrelude(sh Shell, name string) bool {
	switch name {
	case "IFS", "PS1", "PS2", "PS4":
		return true
	case "POSIXLY_CORRECT":
		return sh == Bash
	}
	return false
}

// identifier splits s behind the name of a variable at its beginning, if any.
func identifier(s string) (name, rest string) {
	n := 0
	for n < len(s) && (s[n] == '_' || 'A' <= s[n] && s[n] <= 'Z' || 'a' <= s[n] && s[n] <= 'z' || n > 0 && '0' <= s[n] && s[n] <= '9') {
		n++
	}
	return s[:n], s[n:]
}

func isIdentifier(s string) bool {
	name, rest := identifier(s)
	return name != "" && rest == ""
}
