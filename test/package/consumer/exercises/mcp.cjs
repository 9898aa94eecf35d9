// The tools of a server, through the clients of both generations of the SDK.

const assert = require("node:assert/strict");

exports.beside = ["@modelcontextprotocol/client", "@modelcontextprotocol/sdk"];

const inputSchema = { type: "object", properties: { a: { type: "number" }, b: { type: "number" } } };

function answerTo({ method, params }) {
  if (method === "initialize") {
    return { protocolVersion: params.protocolVersion, capabilities: { tools: {} }, serverInfo: { name: "sums", version: "1" } };
  }
  if (method === "tools/list") return { tools: [{ name: "add", description: "Adds", inputSchema }] };
  return { content: [{ type: "text", text: String(params.arguments.a + params.arguments.b) }] };
}

/** A transport that answers as a server without a connection. */
function createTransport() {
  return {
    async start() {},
    async close() {},
    async send(message) {
      if (message.id === undefined) return;
      queueMicrotask(() => this.onmessage({ jsonrpc: "2.0", id: message.id, result: answerTo(message) }));
    },
  };
}

exports.exercise = async (load) => {
  const { runToolLoop } = await load("turnwright");
  const { createMcpRegistry } = await load("turnwright/mcp");
  const { createMockProvider, text, toolCall } = await load("turnwright/testing");
  for (const path of ["@modelcontextprotocol/client", "@modelcontextprotocol/sdk/client/index.js"]) {
    const { Client } = await load(path);
    const client = new Client({ name: "app", version: "1" });
    await client.connect(createTransport());
    const tools = await createMcpRegistry({ client, prefix: "sums_" });
    const provider = createMockProvider([toolCall("sums_add", { a: 2, b: 3 }), text("5")]);
    const { functionHistory } = await runToolLoop({ provider, tools, messages: [{ role: "user", content: "What is 2 + 3?" }] });
    assert.deepEqual(
      functionHistory.map(({ functionResponse }) => functionResponse.response.result),
      ["5"],
    );
    await client.close();
  }
};
