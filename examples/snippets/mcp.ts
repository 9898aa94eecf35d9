// Uses the tools of an MCP server. The server is MCP's reference server, in a separate process without environment variables.

import assert from "node:assert/strict";
import { createServer } from "node:http";
import { fileURLToPath } from "node:url";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { runToolLoop } from "turnwright";
import { createMcpRegistry } from "turnwright/mcp";
import { createMockProvider, recordEvents, text, toolCall } from "turnwright/testing";

const messages = [{ role: "user", content: "What is 2 and 2, and how long does it take?" }] as const;
const provider = createMockProvider([
  [toolCall("demo_get-sum", { a: 2, b: 2 }), toolCall("demo_trigger-long-running-operation", { duration: 0.1, steps: 2 })],
  text("Four, and not long."),
]);
const log: unknown[] = [];

/** Starts the same server in a fraction of the time that `npx` takes. */
function startServer(): StdioClientTransport {
  const path = fileURLToPath(import.meta.resolve("@modelcontextprotocol/server-everything/dist/index.js"));
  return new StdioClientTransport({ command: process.execPath, args: [path, "stdio"], env: {}, stderr: "ignore" });
}

// #region connect
const client = new Client({ name: "my-app", version: "1.0.0" });
const args = ["-y", "@modelcontextprotocol/server-everything", "stdio"]; // a server for tests
await client.connect(new StdioClientTransport({ command: "npx", args, env: {}, stderr: "ignore" }));

const tools = await createMcpRegistry({ client, prefix: "demo_" });
const result = await runToolLoop({ provider, tools, messages });

tools.close(); // removes the handler from the client
await client.close(); // the registry does not close your client
// #endregion connect
assert.deepEqual(
  result.functionHistory.map(({ functionResponse }) => functionResponse.response.result),
  ["The sum of 2 and 2 is 4.", "Long running operation completed. Duration: 0.1 seconds, Steps: 2."],
);

await client.connect(startServer());

// #region traits
const careful = await createMcpRegistry({
  client,
  annotations: "assumed", // a tool needs approval, unless its annotations say that it is harmless
  traits: ({ name }) => (name === "toggle-simulated-logging" ? { needsApproval: false, timeoutMs: 5_000 } : undefined),
  meta: (_tool, { idempotencyKey }) => ({ "example.com/idempotency-key": idempotencyKey }),
});
// #endregion traits
const asking = careful.definitions().filter(({ needsApproval }) => needsApproval === true);
assert.deepEqual(asking, []);
const logging = careful.definitions().find(({ name }) => name === "toggle-simulated-logging");
assert.deepEqual([logging?.needsApproval, logging?.timeoutMs], [false, 5_000]);
// The client drops progress that it reads together with the result, as a busy machine may.
const slow = createMockProvider([toolCall("trigger-long-running-operation", { duration: 0.5, steps: 2 }), text("Done.")]);
const { emitter: events, of } = recordEvents();
await runToolLoop({ provider: slow, tools: careful, messages, events });
assert.deepEqual(of("tool-progress")[0]?.data, { progress: 1, total: 2 });

const current = await createMcpRegistry({ client, prefix: "now_", onError: (error) => log.push(error) });
await current.refresh(); // at any time, for example after you reconnected the client
assert.deepEqual([current.definitions()[0]?.name, log], ["now_echo", []]);
await client.close();
await assert.rejects(current.refresh(), /Not connected/);

await client.connect(startServer());
// #region reconnect
const lasting = await createMcpRegistry({
  client,
  reconnect: async () => {
    await client.close();
    await client.connect(new StdioClientTransport({ command: "npx", args, env: {} })); // a new transport
  },
});
// #endregion reconnect
await client.close();
const calling = createMockProvider([toolCall("echo", { message: "Hi" }), text("Done.")]);
const { calls } = await runToolLoop({ provider: calling, tools: lasting, messages });
assert.equal(calls[0]?.outcome, "completed");
await client.close();

// #region http
/** Connects to a server on another machine. */
async function connectOverHttp(url: string, token: string): Promise<Client> {
  const remote = new Client({ name: "my-app", version: "1.0.0" });
  const headers = { authorization: `Bearer ${token}` };
  await remote.connect(new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers } }));
  return remote;
}
// #endregion http

// #region refresh
/** Returns a `fetch` function for a transport with an `authProvider`. Calls that find an expired token share one refresh. */
function shareRefresh(): typeof fetch {
  let refresh: { readonly body: string; readonly answer: Promise<Response> } | undefined;
  return async (url, init) => {
    const body = init?.body instanceof URLSearchParams ? init.body.toString() : "";
    if (!body.includes("grant_type=refresh_token")) return fetch(url, init);
    if (refresh?.body !== body) refresh = { body, answer: fetch(url, init) };
    const { answer } = refresh;
    const hasWorked = await answer.then(
      ({ ok }) => ok,
      () => false,
    );
    if (!hasWorked) refresh = undefined; // the next call tries again
    return (await answer).clone();
  };
}
// #endregion refresh
let authorization: string | undefined;
const server = createServer((request, response) => {
  ({ authorization } = request.headers);
  response.writeHead(401).end();
});
await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
const address = server.address();
const port = typeof address === "object" ? address?.port : undefined;
await assert.rejects(connectOverHttp(`http://127.0.0.1:${port}/mcp`, "secret"));
assert.equal(authorization, "Bearer secret");
server.close();

let refreshes = 0;
const login = createServer(
  (request, response) =>
    void request.resume().on("end", () => {
      refreshes += 1;
      response.writeHead(refreshes === 1 ? 500 : 200).end(`token ${refreshes}`);
    }),
);
await new Promise<void>((resolve) => void login.listen(0, "127.0.0.1", resolve));
const at = login.address();
const tokens = `http://127.0.0.1:${typeof at === "object" ? at?.port : ""}/token`;
const fetchToken = shareRefresh();
const ask = async (token: string): Promise<string> => {
  const body = new URLSearchParams({ grant_type: "refresh_token", refresh_token: token });
  const response = await fetchToken(tokens, { method: "POST", body });
  return `${response.status} ${await response.text()}`;
};
assert.deepEqual(await Promise.all([ask("a"), ask("a")]), ["500 token 1", "500 token 1"]);
assert.deepEqual(await Promise.all([ask("a"), ask("a")]), ["200 token 2", "200 token 2"]);
assert.deepEqual([await ask("a"), await ask("b")], ["200 token 2", "200 token 3"]);
login.closeAllConnections();
login.close();
