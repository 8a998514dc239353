package feature

import (
	"bytes"
	"encoding/json"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"

	"hermes.example/hermes/internal/addon/npm"
	"hermes.example/hermes/internal/addon/pep508"
)

var (
	nameForm   = regexp.MustCompile(`^[a-z]+(\.[a-z][a-z0-9_]*)+$`)
	moduleForm = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*(\.[A-Za-z_][A-Za-z0-9_]*)*$`)
)

func TestTheListIsRight(t *testing.T) {
	var l list
	decoder := json.NewDecoder(bytes.NewReader(embedded))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&l); err != nil {
		t.Fatal(err)
	}
	if l.Version != version {
		t.Errorf("it has version %d", l.Version)
	}
	for i, f := range l.Features {
		if i > 0 && l.Features[i-1].Name >= f.Name {
			t.Errorf("%s is not in its place, or is there twice", f.Name)
		}
		if !nameForm.MatchString(f.Name) {
			t.Errorf("%s is not a name", f.Name)
		}
		if f.Ecosystem != "python" && f.Ecosystem != "node" || f.For == "" || strings.ContainsAny(f.For, "\n.") || len(f.For) > 80 {
			t.Errorf("%s: %q for %q", f.Name, f.Ecosystem, f.For)
		}
		if (len(f.Probes) == 0) != f.Node() || slices.ContainsFunc(f.Probes, func(p string) bool { return !moduleForm.MatchString(p) }) {
			t.Errorf("%s: probes %q", f.Name, f.Probes)
		}
		for _, system := range f.Unsupported {
			if !slices.Contains([]string{"linux", "darwin", "windows"}, system) {
				t.Errorf("%s: unsupported on %q", f.Name, system)
			}
		}
		checkSpecs(t, f)
		checkEntry(t, f)
	}
}

var (
	entryForm    = regexp.MustCompile(`^(adapter:[a-z]+|module:[a-z_]+|node:\S+)$`)
	variableForm = regexp.MustCompile(`^[A-Z][A-Z0-9_]*$`)
)

// A feature is started in a way that there is, and is given variables that are its own: none of Hermes', and none that
// is a secret here and a setting there.
func checkEntry(t *testing.T, f Feature) {
	t.Helper()
	given := slices.Concat(f.Credentials, f.Settings)
	if f.Entry != "" && !entryForm.MatchString(f.Entry) || f.Entry == "" && (len(given) > 0 || len(f.Env) > 0 || len(f.Args) > 0) {
		t.Errorf("%s: it is started as %q", f.Name, f.Entry)
	}
	for i, variable := range given {
		if !variableForm.MatchString(variable) || strings.HasPrefix(variable, "HERMES_") || slices.Contains(given[:i], variable) {
			t.Errorf("%s is given %q", f.Name, variable)
		}
	}
	for variable := range f.Env {
		if !variableForm.MatchString(variable) || slices.Contains(given, variable) {
			t.Errorf("%s has the variable %q", f.Name, variable)
		}
	}
}

// All requirements pass the grammar and are exact, but for one; no package is named twice.
func checkSpecs(t *testing.T, f Feature) {
	t.Helper()
	if len(f.Specs) == 0 {
		t.Errorf("%s needs nothing", f.Name)
	}
	named := map[string]bool{}
	if f.Node() {
		checkNode(t, f)
		return
	}
	for _, spec := range f.Specs {
		r, err := pep508.Parse(spec)
		if err != nil {
			t.Errorf("%s: %v", f.Name, err)
			continue
		}
		if _, exact := r.Pin(); !exact && spec != "mem0ai>=2.0.10,<3" {
			t.Errorf("%s: %s is not exact", f.Name, spec)
		}
		if name := pep508.Normalize(r.Name); named[name] {
			t.Errorf("%s names %s twice", f.Name, name)
		} else {
			named[name] = true
		}
	}
}

// What is of npm is started from a file of its first package.
func checkNode(t *testing.T, f Feature) {
	t.Helper()
	for i, text := range f.Specs {
		spec, err := npm.Parse(text)
		if err != nil {
			t.Errorf("%s: %v", f.Name, err)
		}
		if file, ok := f.NodeEntry(); i == 0 && (!ok || !strings.HasPrefix(file, spec.Name+"/") || path.Clean(file) != file) {
			t.Errorf("%s is started as %q", f.Name, f.Entry)
		}
	}
}

// Two features of Python with different pins of one package could never be installed together.
func TestD39NoTwoFeaturesContradictEachOther(t *testing.T) {
	pins, by := map[string]string{}, map[string]string{}
	for _, f := range All() {
		if f.Node() { // each has a tree of its own
			continue
		}
		for _, spec := range f.Specs {
			r, err := pep508.Parse(spec)
			if err != nil {
				t.Fatal(err)
			}
			pin, _ := r.Pin()
			name := pep508.Normalize(r.Name)
			if before, known := pins[name]; known && before != pin {
				t.Errorf("%s needs %s %s, and %s needs %s", f.Name, name, pin, by[name], before)
			}
			pins[name], by[name] = pin, f.Name
		}
	}
}

// The contract's list, which an existing installation relies on; one more search backend; and ready servers of tools.
const contract = `
provider.anthropic: anthropic==0.87.0
mcp.filesystem: @modelcontextprotocol/server-filesystem@2026.8.31
mcp.memory: @modelcontextprotocol/server-memory@2026.8.31
provider.bedrock: boto3==1.42.89
provider.vertex: google-auth==2.55.1 pyasn1==0.6.4
provider.azure_identity: azure-identity==1.25.3
search.exa: exa-py==2.10.2
search.firecrawl: firecrawl-py==4.17.0
search.parallel: parallel-web==0.4.2
search.ddgs: ddgs==9.16.1
export.otlp: opentelemetry-sdk==1.39.1 opentelemetry-exporter-otlp-proto-http==1.39.1
tts.mistral: mistralai==2.4.8
stt.mistral: mistralai==2.4.8
tts.edge: edge-tts==7.2.7
tts.elevenlabs: elevenlabs==1.59.0
stt.faster_whisper: faster-whisper==1.2.1 sounddevice==0.5.5 numpy==2.4.3
wake.whisper: faster-whisper==1.2.1 sounddevice==0.5.5 numpy==2.4.3
stt.silk: pilk==0.2.4
wake.openwakeword: openwakeword==0.6.0 onnxruntime==1.27.0 sounddevice==0.5.5 numpy==2.4.3
wake.openwakeword.tflite: ai-edge-litert==2.1.6
wake.sherpa: sherpa-onnx==1.13.4 sentencepiece==0.2.2 sounddevice==0.5.5 numpy==2.4.3
wake.porcupine: pvporcupine==4.0.3 sounddevice==0.5.5 numpy==2.4.3
image.fal: fal-client==0.13.1
memory.honcho: honcho-ai==2.2.0
memory.supermemory: supermemory==3.50.0
memory.mem0: mem0ai>=2.0.10,<3
platform.telegram: python-telegram-bot[webhooks]==22.8
platform.discord: discord.py[voice]==2.7.1 brotlicffi==1.2.0.2 aiohttp==3.14.3
platform.slack: slack-bolt==1.30.0 slack-sdk==3.44.1 aiohttp==3.14.3
platform.matrix: mautrix[encryption]==0.21.1 aiosqlite==0.22.1 asyncpg==0.31.0 aiohttp-socks==0.11.0 aiohttp==3.14.3
platform.dingtalk: dingtalk-stream==0.24.3 alibabacloud-dingtalk==2.2.42 qrcode==7.4.2
platform.feishu: lark-oapi==1.6.8 qrcode==7.4.2
platform.wecom_callback: defusedxml==0.7.1
platform.teams: microsoft-teams-apps==2.0.13.4 aiohttp==3.14.3
platform.google_chat: google-cloud-pubsub==2.39.0 google-api-python-client==2.194.0 google-auth==2.55.1 google-auth-oauthlib==1.3.1 google-auth-httplib2==0.3.1 httplib2==0.32.0 pyasn1==0.6.4
terminal.modal: modal==1.3.4
terminal.daytona: daytona==0.155.0
terminal.vercel: vercel==0.7.2
skill.google_workspace: google-api-python-client==2.194.0 google-auth==2.55.1 google-auth-oauthlib==1.3.1 google-auth-httplib2==0.3.1 httplib2==0.32.0 pyasn1==0.6.4
skill.youtube: youtube-transcript-api==1.2.4
tool.acp: agent-client-protocol==0.9.0
tool.dashboard: fastapi==0.133.1 uvicorn==0.41.0 starlette==1.3.1 python-multipart==0.0.32
tool.vision: Pillow==12.3.0
tool.doc_extract: firecrawl-anydoc==0.2.4
tool.computer_use: mcp==2.0.0 httpx2==2.7.0 starlette==1.3.1
tool.trace_upload: huggingface-hub==1.24.0
mcp.git: mcp-server-git==2026.10.10
mcp.time: mcp-server-time==2026.10.10
`

func TestTheContractsFeaturesAreThereAndNoOthers(t *testing.T) {
	lines := strings.Split(strings.TrimSpace(contract), "\n")
	if len(lines) != len(All()) {
		t.Errorf("there are %d features, and %d in the contract", len(All()), len(lines))
	}
	for _, line := range lines {
		name, specs, _ := strings.Cut(line, ": ")
		f, found := Find(name)
		if !found || !slices.Equal(f.Specs, strings.Fields(specs)) {
			t.Errorf("%s is %v, %q; want %s", name, found, f.Specs, specs)
		}
		if f.Supports("windows") != (name != "platform.matrix") || !f.Supports("linux") {
			t.Errorf("%s is unsupported on %q", name, f.Unsupported)
		}
	}
}

func TestFind(t *testing.T) {
	for _, name := range []string{"", "search", "search.", "search.Exa", " search.exa", "exa", "search.exa.more", "exa-py==2.10.2", "wake.zzz", "a.a"} {
		if f, found := Find(name); found {
			t.Errorf("%q is found as %s", name, f.Name)
		}
	}
	if f, _ := Find("wake.openwakeword.tflite"); f.Namespace() != "wake" {
		t.Errorf("it is of %q", f.Namespace())
	}
}

func TestAListThatWasTakenIsTheCallersOwn(t *testing.T) {
	All()[0] = Feature{Name: "mine"}
	if All()[0].Name == "mine" {
		t.Error("a caller changed the list")
	}
}

func TestClosestNames(t *testing.T) {
	for typed, want := range map[string]string{
		"search.ex": "search.exa", "serach.exa": "search.exa", "exa": "search.exa", "firecrawl": "search.firecrawl", "Search.Exa": "search.exa",
		"telegramm": "platform.telegram", "stt.faster-whisper": "stt.faster_whisper", "faster whisper": "stt.faster_whisper", "mistral": "stt.mistral", "ddg": "search.ddgs",
		"wake.openwakeword.tflight": "wake.openwakeword.tflite", "google-chat": "platform.google_chat",
	} {
		if got := Closest(typed); len(got) == 0 || len(got) > 3 || got[0] != want {
			t.Errorf("%q is close to %q, not %s", typed, got, want)
		}
	}
	for _, typed := range []string{"", "x", "something entirely else", strings.Repeat("search.exa", 1000), "requests==2.0"} {
		if got := Closest(typed); got != nil {
			t.Errorf("%.20q is close to %q", typed, got)
		}
	}
}
