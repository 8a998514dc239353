// A server of one tool, in the other language. It says where it is, and what its dependency is.
const lines = require("readline").createInterface({ input: process.stdin });
const send = (id, result) => console.log(JSON.stringify({ jsonrpc: "2.0", id, result }));

lines.on("line", (line) => {
  const { id, method, params } = JSON.parse(line);
  if (method === "initialize") {
    send(id, { protocolVersion: params.protocolVersion, capabilities: { tools: {} }, serverInfo: { name: "t", version: "1" } });
  } else if (method === "tools/list") {
    send(id, { tools: [{ name: "where", inputSchema: { type: "object" } }] });
  } else if (method === "tools/call") {
    send(id, { content: [], structuredContent: { file: __filename, dep: require("dep"), argv: process.argv.slice(2), key: process.env.API_KEY } });
  }
});
