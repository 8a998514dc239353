//go:build linux

package shellstate

import (
	"fmt"
	"strings"
	"testing"
)

func TestEveryByteSurvives(t *testing.T) {
	everyShell(t, func(t *testing.T, s *session) {
		for _, lang := range []string{"C", "C.UTF-8"} {
			for name, value := range map[string]string{
				"all":       everyByte(),
				"broken":    "é\xff\xc3ü€\xe2\x82",
				"lines":     "a\n\nb\n",
				"quotes":    `'"$(x)` + "`y`" + `\\'\''$'`,
				"empty":     "",
				"function":  "() { :; }",
				"report":    "declare -x Z=\"1\"\nexport Z='1'\n",
				"octal":     "\x01" + "23" + "\x7f" + "1",
				"backslash": `\n\\`,
				"ctl":       "\x01\x01\x7f\x7fa\x01",
			} {
				s.st.Env["V"], s.st.Env["LC_ALL"] = value, lang
				s.want(`export W="$V" V2="$V"`, "")
				if got := s.st.Env["W"]; got != value {
					t.Errorf("%s in %s: %q, want %q", name, lang, got, value)
				}
				if s.st.Env["V"] != value {
					t.Errorf("%s in %s: the unchanged variable is %q", name, lang, s.st.Env["V"])
				}
			}
		}
	})
}

func TestHugeEnvironment(t *testing.T) {
	everyShell(t, func(t *testing.T, s *session) {
		long := strings.Repeat(everyByte(), 1200)
		s.st.Env["LONG"] = long
		for i := range 9000 {
			s.st.Env[fmt.Sprintf("V%04d", i)] = strings.Repeat("x'y", 100)
		}
		s.want(`export COPY="$LONG" V0001="$V8999.."; echo ${#V8999}`, "300\n")
		if s.st.Env["COPY"] != long || s.st.Env["LONG"] != long || s.st.Env["V0001"] != strings.Repeat("x'y", 100)+".." || len(s.st.Env) < 9004 {
			t.Errorf("the environment is damaged: %d names", len(s.st.Env))
		}
	})
}

func TestLineLongerThanAnArgument(t *testing.T) {
	everyShell(t, func(t *testing.T, s *session) {
		long := strings.Repeat("it's\n", 60000)
		s.want("export A=1; cat <<'EOF' | wc -c\n"+long+"EOF\nexport B=2", "300000\n")
		s.want("echo $A$B", "12\n")
		s.wantStatus(": '"+strings.Repeat("x", 200000)+"'; exit 5", 5)
		s.wantStatus(": "+strings.Repeat("x", 200000)+"\nif then", 2)
		s.want("echo "+strings.Repeat("x", maxString-70)+" | wc -c", fmt.Sprintln(maxString-70+1))
		s.wantClean()
	})
}

func TestDeclaredAttributesCarryOver(t *testing.T) {
	s := bash(t)
	s.want(`export -a ARR; ARR=(a "b c" $'d\ne' '$(x)' [9]="]"); declare -Ax MAP=([k]=v ["a b"]='c"' [$'\n']=3 ["]"]=x); declare -ax EMPTY=(); declare -ax NONE
declare -ix N=5; declare -rx R=fixed; declare -lx L=ABC; declare -x UNSET; X=target; declare -nx REF=X; declare -arx RA=(1 2)`, "")
	s.want(`echo "${#ARR[@]} ${ARR[2]@Q} ${ARR[3]} ${ARR[9]} ${MAP[a b]} ${MAP[']']} ${#EMPTY[@]} ${RA[1]}"; N=2+3; echo $N; L=XYZ; echo $L; UNSET=now; REF=via; echo $X; env | grep UNSET`,
		"5 $'d\\ne' $(x) ] c\" x 0 2\n5\nxyz\nvia\nUNSET=now\n")
	if r := s.run("R=other"); r.status == 0 || !strings.Contains(r.err, "readonly") {
		t.Errorf("R is not readonly any more: %+v", r)
	}
	s.want("declare -p ARR MAP N R L EMPTY RA REF NONE", s.run("declare -p ARR MAP N R L EMPTY RA REF NONE").out)
	s.want("unset ARR MAP N UNSET; declare +x L; declare +i N", "")
	for _, n := range []string{"ARR", "MAP", "N", "L"} {
		if a, ok := s.st.Attrs[n]; ok {
			t.Errorf("%s is still declared: %s", n, a)
		}
	}
	s.want("ARR=scalar; export ARR", "")
	s.want("declare -p ARR", "declare -x ARR=\"scalar\"\n")
	if r := s.begin("declare -p ARR R", Options{Inject: map[string]string{"ARR": "once", "R": "once"}})(); r.out != "declare -x ARR=\"once\"\ndeclare -x R=\"once\"\n" {
		t.Errorf("injected: %q", r.out)
	}
	s.want("declare -p ARR R", "declare -x ARR=\"scalar\"\ndeclare -rx R=\"fixed\"\n")
}

func TestVariablesThatBashResets(t *testing.T) {
	everyShell(t, func(t *testing.T, s *session) {
		s.want(`export PS1='$ ' PS2='it'"'"'s' PS4='trace ' IFS=:`, "")
		s.want(`echo "$PS1$PS2$PS4$IFS"; x=a:b; set -- $x; echo $#`, "$ it'strace :\n2\n")
		s.want(`unset PS1 IFS`, "")
		s.want(`x=a:b; set -- $x; echo $#`, "1\n")
		if _, ok := s.st.Env["PS1"]; ok {
			t.Error("PS1 is still there")
		}
	})
}

func TestFunctionsOfEveryKind(t *testing.T) {
	s := bash(t)
	define := `h() { cat <<E
}
zz () 
{ 
$1
E
}
q() { cat <<'E'
it's "quoted" $x \ ` + "`y`" + `
E
echo 'multi
line' "$(echo sub)" $'\e\n' | tail -1; } 2>&1
function a-b { echo a-b; }
function if { echo reserved; }
a/b() { echo slash; }
function [x { echo bracket; }
é() { echo accent; }
s() ( echo subshell )
r() { cat; } <<< here
zz() { inner() { echo inner; }; inner; }
exported() { echo exported; }; export -f exported
fixed() { echo fixed; }; readonly -f fixed
`
	run := `h "a b"; q; a-b; \if; a/b; [x; é; s; r; zz; bash -c exported; fixed`
	want := s.run(define + run)
	if want.report != nil || strings.Count(want.out, "\n") < 15 || want.err != "" {
		t.Fatalf("%+v", want)
	}
	s.want(run, want.out)
	before := s.st.Clone()
	s.want(run, want.out)
	if c := Delta(before, s.st); len(c.Functions.Set)+len(c.Functions.Unset) > 0 {
		t.Errorf("the functions changed by themselves: %+v", c.Functions)
	}
	if r := s.run("fixed() { :; }"); !strings.Contains(r.err, "readonly function") {
		t.Errorf("fixed is not readonly: %+v", r)
	}
	s.want("unset -f zz exported; declare -F | wc -l", "11\n")
	s.want("declare -F | wc -l; h x", "11\n}\nzz () \n{ \nx\n")
	s.wantClean()
}

func TestFunctionsNeedNoOptionsToComeBack(t *testing.T) {
	s := bash(t)
	s.want("shopt -s extglob\nf() { case $1 in +(a|b)) echo ab ;; !(c)) echo other ;; esac; }", "")
	s.want("shopt -q extglob || echo off; shopt -s extglob; f aab; f x", "off\nab\nother\n")
	s.want("alias ls='ls -d'\ng() { ls /; }", "")
	for range 3 {
		s.want("g; declare -f g | grep -c -- '-d -d'; :", "/\n0\n")
	}
}

func TestAFunctionThatCannotBeReadIsOneLost(t *testing.T) {
	s := bash(t)
	s.st.Functions = map[string]string{"a": "a () { echo a; }", "b": "b () { if; }", "c": "c () { echo c; }"}
	s.want("a; c", "a\nc\n")
}

func TestExportedFunctionsOfTheImageBecomeTheSessions(t *testing.T) {
	s := bash(t)
	s.st.Env["BASH_FUNC_img%%"] = "() {  echo image\n}"
	s.want("img; bash -c img", "image\nimage\n")
	s.want("img; bash -c img", "image\nimage\n")
	s.want("unset -f img", "")
	if r := s.run("img"); r.status != 127 {
		t.Errorf("img is back: %+v", r)
	}
}

func TestAliasesOfEveryKind(t *testing.T) {
	s := bash(t)
	s.want(`alias a='echo "it'\''s" \\ $HOME; echo two' ..='cd ..' 'é=echo é' b=$'x\ty\nz\e' ll='ls -l ' g+='echo plus'; alias -- -x='echo dash'`, "")
	before := s.st.Clone()
	if len(before.Aliases) != 7 || before.Aliases["b"] != "x\ty\nz\x1b" {
		t.Fatalf("%q", before.Aliases)
	}
	s.want("a; é; -x; g+", s.run("echo \"it's\" \\\\ $HOME; echo two; echo é; echo dash; echo plus").out)
	s.want("alias -p", s.run("alias -p").out)
	if c := Delta(before, s.st); len(c.Aliases.Set)+len(c.Aliases.Unset) > 0 {
		t.Errorf("the aliases changed by themselves: %+v", c.Aliases)
	}
}
