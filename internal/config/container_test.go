package config

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

// container reads what a file and variables say about containers.
func container(t *testing.T, file string, vars map[string]string) (Container, error) {
	t.Helper()
	c, err := Load(inHome(t, file, vars))
	if err != nil {
		t.Fatalf("what is about containers only stops everybody: %v", err)
	}
	return c.Container()
}

func TestContainerDefaults(t *testing.T) {
	got, err := container(t, "", nil)
	want := Container{Image: "nikolaik/python-nodejs:python3.11-nodejs20", CPUs: 1, Memory: 5 << 30, Disk: 50 << 30, SharedMemory: 1 << 30, Network: true, PersistAcrossProcesses: true}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, %v; want %+v", got, err, want)
	}
}

func TestEveryContainerSettingIsReadFromVariableAndFile(t *testing.T) {
	vars := map[string]string{
		"TERMINAL_DOCKER_IMAGE": "debian:12", "TERMINAL_CWD": "/srv/app", "TERMINAL_CONTAINER_CPU": "0.5", "TERMINAL_CONTAINER_MEMORY": "64",
		"TERMINAL_CONTAINER_DISK": "128", "TERMINAL_DOCKER_SHM_SIZE": "256m", "TERMINAL_DOCKER_NETWORK": "no", "TERMINAL_DOCKER_RUN_AS_HOST_USER": "yes",
		"TERMINAL_DOCKER_SNAP_COMPAT": "1", "TERMINAL_DOCKER_PERSIST_ACROSS_PROCESSES": "false",
		"TERMINAL_DOCKER_FORWARD_ENV": `["A"]`, "TERMINAL_DOCKER_ENV": `{"K": 1}`, "TERMINAL_DOCKER_EXTRA_ARGS": `["--init", 42]`,
		"TERMINAL_ENV_PASSTHROUGH": `["NOT_READ"]`,
	}
	want := Container{Image: "debian:12", Cwd: "/srv/app", CPUs: 0.5, Memory: 64 << 20, Disk: 128 << 20, SharedMemory: 256 << 20, RunAsHostUser: true, SnapCompat: true,
		ForwardEnv: []string{"A"}, Env: map[string]Secret{"K": NewSecret("1")}, ExtraArgs: []any{"--init", json.Number("42")}}
	if got, err := container(t, "", vars); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("variables: got %+v, %v; want %+v", got, err, want)
	}
	file := `terminal:
  docker_image: busybox
  cwd: /data
  container_cpu: 2
  container_memory: 0
  container_disk: "0"
  docker_shm_size: 1.5g
  docker_network: on
  docker_run_as_host_user: false
  docker_snap_compat: false
  docker_persist_across_processes: true
  docker_forward_env: [B, C]
  env_passthrough: [D]
  docker_env: {L: text}
  docker_extra_args: [--rm]
`
	want = Container{Image: "busybox", Cwd: "/data", CPUs: 2, SharedMemory: 3 << 29, Network: true, PersistAcrossProcesses: true,
		ForwardEnv: []string{"B", "C"}, EnvPassthrough: []string{"D"}, Env: map[string]Secret{"L": NewSecret("text")}, ExtraArgs: []any{"--rm"}}
	if got, err := container(t, file, vars); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("the file: got %+v, %v; want %+v", got, err, want)
	}
}

func TestCwdOfContainers(t *testing.T) {
	for cwd, want := range map[string]string{
		"/srv": "/srv", "/root/x": "/root/x", "/homestead": "/homestead",
		"": "", ".": "", "~": "", "~/x": "", "project": "", "/home/me": "", "/home": "", "/Users/me/x": "", `C:\x`: "", "C:/x": "",
	} {
		if got, err := container(t, "", map[string]string{"TERMINAL_CWD": cwd}); err != nil || got.Cwd != want {
			t.Errorf("%q: %q, %v; want %q", cwd, got.Cwd, err, want)
		}
	}
}

func TestSharedMemory(t *testing.T) {
	for value, want := range map[string]int64{"256m": 256 << 20, "1g": 1 << 30, "64K": 64 << 10, "1GiB": 1 << 30, "2gb": 2 << 30, "1048576": 1 << 20, "": 0, "0": 0, " ": 0, "0m": 0} {
		if got, err := container(t, "", map[string]string{"TERMINAL_DOCKER_SHM_SIZE": value}); err != nil || got.SharedMemory != want {
			t.Errorf("variable %q: %d, %v; want %d", value, got.SharedMemory, err, want)
		}
		file := fmt.Sprintf("terminal:\n  docker_shm_size: %q\n", value)
		if got, err := container(t, file, map[string]string{"TERMINAL_DOCKER_SHM_SIZE": "7m"}); err != nil || got.SharedMemory != want {
			t.Errorf("file %q: %d, %v; want %d", value, got.SharedMemory, err, want)
		}
	}
	for _, file := range []string{"terminal:\n  docker_shm_size:\n", "terminal:\n  docker_shm_size: null\n", "terminal:\n  docker_shm_size: 0\n"} {
		if got, err := container(t, file, nil); err != nil || got.SharedMemory != 0 {
			t.Errorf("%q: %d, %v", file, got.SharedMemory, err)
		}
	}
}

func TestNamesAreTrimmedAndTakenOnce(t *testing.T) {
	const secret = "hunter2"
	got, err := container(t, "terminal:\n  docker_forward_env: [' B ', A, B, 1, 'TOKEN="+secret+"', '', 9X, a-b, _, A]\n  env_passthrough: C\n", nil)
	if want := []string{"B", "A", "_"}; err != nil || !reflect.DeepEqual(got.ForwardEnv, want) || got.EnvPassthrough != nil {
		t.Errorf("got %+v, %v; want %q", got, err, want)
	}
	said := strings.Join(got.Ignored, "\n")
	for _, part := range []string{"entry 4 of terminal.docker_forward_env in ", "entry 5 ", "entry 6 ", "entry 7 ", "entry 8 ", "terminal.env_passthrough in ", "not a list"} {
		if !strings.Contains(said, part) {
			t.Errorf("%q is not said in %q", part, said)
		}
	}
	if len(got.Ignored) != 6 || strings.Contains(said, secret) {
		t.Errorf("ignored: %q", got.Ignored)
	}
}

// What commands saw as the values of numbers and truths goes on being so.
func TestVariablesOfContainers(t *testing.T) {
	want := map[string]string{"K": "1", "BIG": "123456789012345678901", "T": "True", "F": "False", "HALF": "0.5", "ONE": "1.0", "EXP": "100000.0",
		"TINY": "1e-05", "HUGE": "1e+16", "TEXT": " kept ", "EMPTY": "", "TRIMMED": "x", "MINUS": "-3"}
	fromJSON := `{"K": 1, "BIG": 123456789012345678901, "T": true, "F": false, "HALF": 0.5, "ONE": 1.0, "EXP": 1e5, "TINY": 0.00001, "HUGE": 1e16,
		"TEXT": " kept ", "EMPTY": "", " TRIMMED ": "x", "MINUS": -3}`
	check := func(from string, got map[string]Secret) {
		t.Helper()
		for name, value := range want {
			if got[name].Reveal() != value {
				t.Errorf("%s: %s is %q, want %q", from, name, got[name].Reveal(), value)
			}
		}
		if len(got) != len(want) {
			t.Errorf("%s: %d variables, want %d", from, len(got), len(want))
		}
	}
	k, err := container(t, "", map[string]string{"TERMINAL_DOCKER_ENV": fromJSON})
	if err != nil || k.Ignored != nil {
		t.Fatal(err, k.Ignored)
	}
	check("JSON", k.Env)
	delete(want, "BIG") // beyond what the file's parser takes for a number
	k, err = container(t, "terminal:\n  docker_env:\n    K: 1\n    T: true\n    F: False\n    HALF: 0.5\n    ONE: 1.0\n    EXP: 1.0e5\n    TINY: 0.00001\n    HUGE: 1.0e16\n    TEXT: ' kept '\n    EMPTY: ''\n    ' TRIMMED ': x\n    MINUS: -3\n", nil)
	if err != nil || k.Ignored != nil {
		t.Fatal(err, k.Ignored)
	}
	check("YAML", k.Env)
}

func TestVariablesWithoutAMeaningAreSaidByNameAndKind(t *testing.T) {
	const secret = "hunter2"
	for from, read := range map[string]func() (Container, error){
		"JSON": func() (Container, error) {
			return container(t, "", map[string]string{"TERMINAL_DOCKER_ENV": `{"K": 1, "L": ["` + secret + `"], "M": {"` + secret + `": 1}, "N": null, "bad key": "` + secret + `", "A=` + secret + `": 1, "NUL": "` + secret + `\u0000"}`})
		},
		"YAML": func() (Container, error) {
			return container(t, "terminal:\n  docker_env: {K: 1, L: ["+secret+"], M: {"+secret+": 1}, N: null, 'bad key': "+secret+", 'A="+secret+"': 1, NUL: \""+secret+"\\0\"}\n", nil)
		},
	} {
		k, err := read()
		if err != nil || !reflect.DeepEqual(k.Env, map[string]Secret{"K": NewSecret("1")}) {
			t.Errorf("%s: %d variables, %v", from, len(k.Env), err)
		}
		said := strings.Join(k.Ignored, "\n")
		for _, part := range []string{"L of ", "is a list,", "M of ", "a list of names", "N of ", "is nothing,", `"bad key"`, `"A" of `, "NUL of ", "is bytes,"} {
			if !strings.Contains(said, part) {
				t.Errorf("%s: %q is not said in %q", from, part, said)
			}
		}
		if len(k.Ignored) != 6 || strings.Contains(said, secret) {
			t.Errorf("%s: ignored: %q", from, k.Ignored)
		}
	}
}

func TestBadContainerSettingsAreNamedWithoutSecrets(t *testing.T) {
	const secret = "hunter2"
	for name, test := range map[string]struct {
		values   []string
		expected string
		hidden   bool
	}{
		"TERMINAL_CONTAINER_CPU":      {[]string{"many", "-1", "1e3", "0.001", "9999999999"}, "a number of processors", false},
		"TERMINAL_CONTAINER_MEMORY":   {[]string{"5g", "-1", "1.5", "9999999999999"}, "a whole number of megabytes", false},
		"TERMINAL_CONTAINER_DISK":     {[]string{"5g", "-1"}, "a whole number of megabytes", false},
		"TERMINAL_DOCKER_SHM_SIZE":    {[]string{"big", "-1", "1x", "99999999999g"}, "a size", false},
		"TERMINAL_DOCKER_FORWARD_ENV": {[]string{"A,B", `["A"`, `["A"] ["B"]`}, "a JSON list", false},
		"TERMINAL_DOCKER_ENV":         {[]string{"A=" + secret, `{"A": "` + secret, `{"A": "` + secret + `"} x`}, "a JSON object", true},
		"TERMINAL_DOCKER_EXTRA_ARGS":  {[]string{"-e A=" + secret, `["-e", "A=` + secret}, "a JSON list", true},
	} {
		for _, value := range test.values {
			_, err := container(t, "", map[string]string{name: value})
			if err == nil || !strings.HasPrefix(err.Error(), "cannot use "+name) || !strings.Contains(err.Error(), test.expected) || strings.Contains(err.Error(), secret) ||
				strings.Contains(err.Error(), fmt.Sprintf("=%q", value)) == test.hidden {
				t.Errorf("%s=%q: %v", name, value, err)
			}
		}
	}
	for _, key := range []string{"container_cpu", "container_memory", "docker_shm_size"} {
		if _, err := container(t, "terminal:\n  "+key+": much\n", nil); err == nil || !strings.Contains(err.Error(), "terminal."+key+`="much" in `) {
			t.Errorf("%s: %v", key, err)
		}
	}
}

func TestSecretsShowThemselvesToNobody(t *testing.T) {
	const value = "hunter2"
	k := Container{Env: map[string]Secret{"A": NewSecret(value)}}
	var log strings.Builder
	slog.New(slog.NewTextHandler(&log, nil)).Info("x", "secret", k.Env["A"], "all", k)
	slog.New(slog.NewJSONHandler(&log, nil)).Info("x", "secret", k.Env["A"], "all", k)
	data, err := json.Marshal(k)
	if err != nil {
		t.Fatal(err)
	}
	for _, shown := range []string{log.String(), string(data), fmt.Sprint(k), fmt.Sprintf("%+v %#v %s %q %d %x", k, k, k.Env["A"], k.Env["A"], k.Env["A"], k.Env["A"])} {
		if strings.Contains(shown, value) || strings.Contains(shown, fmt.Sprintf("%x", value)) {
			t.Errorf("shown: %s", shown)
		}
	}
	if k.Env["A"].Reveal() != value {
		t.Error("the value is not there")
	}
}

func TestTheEngineWhereNoneIsNamed(t *testing.T) {
	mark := filepath.Join(t.TempDir(), "mark")
	if got := defaultEngine(mark); got != "native" {
		t.Errorf("on a host: %q", got)
	}
	for text, want := range map[string]string{"docker\n": "local", "docker": "local", "git\n": "native", "": "native"} {
		if err := os.WriteFile(mark, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := defaultEngine(mark); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

func TestTheHomeOfAllProfiles(t *testing.T) {
	for home, want := range map[string]string{"/data": "/data", "/data/profiles/office": "/data", "/data/profiles": "/data/profiles", "/profiles/x": "/"} {
		if got := (Config{Home: filepath.FromSlash(home)}).RootHome(); got != filepath.FromSlash(want) {
			t.Errorf("%s: %s, want %s", home, got, want)
		}
	}
}
