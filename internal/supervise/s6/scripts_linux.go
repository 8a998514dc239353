package s6

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"hermes.example/hermes/internal/supervise"
)

// The scripts are for /bin/sh and what s6 brings itself: Debian's s6 comes without execline, and the old image has
// both. What they remember lies in data/, which s6 promises never to touch:
//
//	environment  what run starts the program with; only its user may read it, for it may hold keys
//	group        the process group that finish ends
//	asked        somebody wanted it to end, and to come back
//	started      when the program was
//	ended        how often it ended, and when the last time
//	failures     when it failed, within the window
//	pause        for how long run waits, and then that it does
//	parked       why it is down
const header = "#!/bin/sh\n# Made by hermes when the service was registered. A change lasts until it is registered again.\n" + trusted

// trusted is where s6 and the rest are, in Debian and in the old image. The image's own PATH has directories in it
// that the user can write.
const trusted = "PATH=/command:/usr/sbin:/usr/bin:/sbin:/bin\nexport PATH\n"

// scannerScript becomes the user's scanner. It is the only one that root runs.
func scannerScript(scan string, u supervise.User) string {
	return "#!/bin/sh\n# Made by hermes: the scanner of the service user.\n" + trusted +
		"cd / || exit 111\nexec </dev/null\nexec " + becoming(u) + " s6-svscan " + quote(scan) + "\n"
}

// drop starts a script again as the service's user, should the scanner be root's. It does not make such a scanner
// safe, because the user can write the script; see Prepare for what does.
func drop(u *supervise.User, script string) string {
	if u == nil {
		return ""
	}
	return fmt.Sprintf("[ \"$(id -u)\" != 0 ] || exec %s ./%s \"$@\"\n", becoming(*u), script)
}

// becoming is the words before a command that root runs as somebody else.
func becoming(u supervise.User) string {
	groups := []string{strconv.Itoa(u.GID)}
	for _, g := range u.Groups {
		groups = append(groups, strconv.Itoa(g))
	}
	return fmt.Sprintf("s6-applyuidgid -u %d -g %d -G %s", u.UID, u.GID, strings.Join(groups, ","))
}

// runScript becomes the service. A pause after a failure is spent here and not in finish, which nothing but its own
// time limit would end.
func runScript(s supervise.Service) string {
	var b strings.Builder
	b.WriteString(header + drop(s.User, "run"))
	b.WriteString(`exec </dev/null 2>&1
echo $$ >data/group || exit 111
pause=$(cat data/pause 2>/dev/null) && sleep "$pause"
rm -f data/pause data/parked
date +%s >data/started
. ./data/environment
limits=
`)
	for _, l := range s.Limits {
		for _, words := range limitWords(l) {
			fmt.Fprintf(&b, "s6-softlimit %s true 2>/dev/null && limits=\"$limits s6-softlimit %s\"\n", words, words)
		}
	}
	fmt.Fprintf(&b, "cd %s || exit 111\n# shellcheck disable=SC2086 # one word each\nexec $limits env -i \"$@\" %s\n", quote(s.Dir), quoteAll(s.Argv))
	return b.String()
}

// environment is read by run: the variables as arguments, in the order of their names.
func environment(vars []string) string {
	return "set -- " + quoteAll(vars) + "\n"
}

// finishScript decides what becomes of a service that ended. s6 starts it again after a second whatever happened,
// unless this ends with 125.
func finishScript(s supervise.Service) string {
	r := withDefaults(s.Restart)
	pauses := pauses(r)
	return header + drop(s.User, "finish") + fmt.Sprintf(`# $1 is what run ended with, 256 for a signal, which is $2; 125 tells s6 to leave the service down.
park() {
	[ "$(s6-svstat -o wantedup . 2>/dev/null)" != true ] || echo "$1" >data/parked
	exit 125
}

# What the service leaves behind in its process group ends with it. Group 1 would be everybody, and the number is
# good only once.
group=$(cat data/group 2>/dev/null)
rm -f data/group
case $group in '' | *[!0-9]* | 0* | 1) ;; *) kill -KILL "-$group" 2>/dev/null ;; esac

if [ -f data/asked ]; then
	rm -f data/asked
	exit 0
fi

now=$(date +%%s) ended=0
[ ! -f data/ended ] || read -r ended _ <data/ended
echo "$((ended + 1)) $now" >data/ended

case $1 in
0) park 'it ended by itself, with status 0' ;;
%d) park 'it refused its configuration, with status %d' ;;
%d) park 'it gave up for good, with status %d' ;;
%d) # it asked for it, unless it does nothing else
	[ $((now - $(cat data/started 2>/dev/null || echo 0))) -le 1 ] || exit 0 ;;
256) [ "$2" != 15 ] || exit 0 ;; # somebody asked for it
esac

recent=$now n=1
for at in $(cat data/failures 2>/dev/null); do
	[ $((now - at)) -ge %d ] || { recent="$recent $at" n=$((n + 1)); }
done
echo "$recent" >data/failures
[ $n -lt %d ] || park 'it failed %d times within %s'

# Longer from failure to failure, and not at the same time as others: a process id is a die.
set -- %s
[ $n -le $# ] || n=$#
shift $((n - 1))
ms=$(($1 + $1 * ($$ %% 5) / 10))
printf '%%d.%%03d\n' $((ms / 1000)) $((ms %% 1000)) >data/pause
exit 0
`, supervise.ExitConfig, supervise.ExitConfig, supervise.ExitPermanent, supervise.ExitPermanent, supervise.ExitRestart,
		max(1, int(r.Window.Seconds())), r.Burst, r.Burst, r.Window, strings.Join(pauses, " "))
}

// logScript passes every line on as it is, and keeps it with its time. A log that cannot be kept stops nothing.
func logScript(s supervise.Service) string {
	return header + drop(s.User, "run") + fmt.Sprintf(`exec 2>&1
dir=%s
mkdir -p "$dir" && rm -f "$dir/lock" || exec cat
exec s6-log n10 s1000000 1 T "$dir"
`, quote(s.Log))
}

func withDefaults(r supervise.Restarting) supervise.Restarting {
	if r.Min <= 0 {
		r.Min = supervise.DefaultMin
	}
	if r.Max < r.Min {
		r.Max = max(r.Min, supervise.DefaultMax)
	}
	if r.Burst <= 0 {
		r.Burst = supervise.DefaultBurst
	}
	if r.Window <= 0 {
		r.Window = supervise.DefaultWindow
	}
	return r
}

// pauses are the milliseconds after the first failure, the second and so on; the last one is for all that follow.
func pauses(r supervise.Restarting) (ms []string) {
	for p := r.Min; ; p = min(2*p, r.Max) {
		ms = append(ms, strconv.FormatInt(p.Milliseconds(), 10))
		if p >= r.Max {
			return ms
		}
	}
}

// limitOptions are s6-softlimit's names of the kernel's numbers.
var limitOptions = map[int]string{0: "-t", 1: "-f", 2: "-d", 3: "-s", 4: "-c", 5: "-r", 6: "-p", 7: "-o", 8: "-l", 9: "-a"}

// limitWords are s6-softlimit's arguments: first the upper limit, which takes the other one with it.
func limitWords(l supervise.Limit) []string {
	option, known := limitOptions[l.Resource]
	if !known {
		return nil
	}
	return []string{fmt.Sprintf("-H %s %d", option, l.Max), fmt.Sprintf("%s %d", option, l.Soft)}
}

// milliseconds is how s6 reads times.
func milliseconds(d time.Duration) string {
	return strconv.FormatInt(max(1, d.Milliseconds()), 10) + "\n"
}

func quoteAll(words []string) string {
	quoted := make([]string, len(words))
	for i, w := range words {
		quoted[i] = quote(w)
	}
	return strings.Join(quoted, " ")
}

// quote makes one word of anything for a shell.
func quote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }
