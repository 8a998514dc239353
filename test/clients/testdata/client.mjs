// client.mjs SDK TRANSPORT …: does with a server what an agent does, by an official client, and prints what came of it, a
// line of JSON for each step. SDK is 1 or 2; TRANSPORT is "stdio" with a command, or "http" with an address and a key.
const [, , sdk, transport, ...rest] = process.argv;

const modules = {
  1: {
    client: "@modelcontextprotocol/sdk/client/index.js",
    stdio: "@modelcontextprotocol/sdk/client/stdio.js",
    http: "@modelcontextprotocol/sdk/client/streamableHttp.js",
    types: "@modelcontextprotocol/sdk/types.js",
  },
  2: {
    client: "@modelcontextprotocol/client",
    stdio: "@modelcontextprotocol/client/stdio",
    http: "@modelcontextprotocol/client",
  },
}[sdk];

const { Client } = await import(modules.client);

async function open() {
  if (transport === "stdio") {
    const { StdioClientTransport } = await import(modules.stdio);
    return new StdioClientTransport({ command: rest[0], args: rest.slice(1), env: process.env, stderr: "inherit" });
  }
  const { StreamableHTTPClientTransport } = await import(modules.http);
  return new StreamableHTTPClientTransport(new URL(rest[0]), { requestInit: { headers: { Authorization: `Bearer ${rest[1]}` } } });
}

const say = (step, what) => console.log(JSON.stringify({ step, ...what }));

const client = new Client({ name: "hermes-test", version: "1" });
const line = await open();
await client.connect(line);
say("connected", { server: client.getServerVersion()?.name, instructions: (client.getInstructions() ?? "").length > 0 });

const call = async (name, args, options) => {
  const params = { name, arguments: args };
  const result = sdk === "1" ? await client.callTool(params, undefined, options) : await client.callTool(params, options);
  return { error: result.isError === true, out: result.structuredContent, text: result.content?.[0]?.text };
};

const { tools } = await client.listTools();
say("tools", { names: tools.map((t) => t.name).sort(), readOnly: tools.filter((t) => t.annotations?.readOnlyHint).map((t) => t.name).sort() });

await call("terminal", { command: "cd /tmp && export COLOUR=green" });
say("session", await call("terminal", { command: 'echo "$PWD $COLOUR"' }));
say("failing", await call("terminal", { command: "echo no >&2; exit 3" }));

const told = [];
await call("terminal", { command: "echo begun; sleep 7; echo done" }, { onprogress: (p) => told.push(p.message), resetTimeoutOnProgress: true });
say("progress", { told });

const stop = new AbortController();
const cancelled = call("terminal", { command: "(sleep 4444 & sleep 4444 & wait) & sleep 4444; wait" }, { signal: stop.signal }).then(
  () => "answered",
  () => "given up",
);
const left = async () => (await call("terminal", { command: "grep -lsa '^sl[e]ep.4444' /proc/[0-9]*/cmdline | wc -l" })).out.output.trim();
while ((await left()) !== "3") await new Promise((r) => setTimeout(r, 50));
stop.abort();
const how = await cancelled;
let remaining = await left();
for (let i = 0; i < 200 && remaining !== "0"; i++) {
  await new Promise((r) => setTimeout(r, 50));
  remaining = await left();
}
say("cancelled", { how, remaining });

await call("write_file", { path: "/workspace/a.txt", content: "one\ntwo\n" });
await call("patch", { path: "/workspace/a.txt", old_string: "two", new_string: "three" });
say("files", await call("read_file", { path: "/workspace/a.txt" }));
say("refused", await call("patch", { path: "/workspace/a.txt", old_string: "absent", new_string: "x" }));

const started = await call("process", { action: "start", command: "echo up; sleep 4444" });
const id = started.out.process.process_id;
let polled;
do {
  polled = await call("process", { action: "log", process_id: id });
} while (!polled.out.output);
const killed = await call("process", { action: "kill", process_id: id });
say("process", { log: polled.out.output, state: killed.out.process.state });

say("unknown argument", await call("terminal", { comand: "true" }));
await client.close();
