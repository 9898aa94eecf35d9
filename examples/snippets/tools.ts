// Defines tools, and tests them.

import assert from "node:assert/strict";
import { defineTool, FatalToolError, type JsonSchema, preToolText, runToolLoop, type ToolRegistry, toolResult } from "turnwright";
import { createMockProvider, createTestClock, runTool, text, toolCall } from "turnwright/testing";
import { z } from "zod";

const requests: RequestInit[] = [];
const fetch = async (_url: string, init: RequestInit): Promise<Response> => (requests.push(init), Response.json({ ok: true }));

// #region define
const weather = defineTool({
  name: "get_weather",
  description: "Current weather of a city",
  inputSchema: z.object({ city: z.string(), unit: z.enum(["C", "F"]).default("C") }),
  timeoutMs: 10_000,
  async execute({ city, unit }, { signal }) {
    const response = await fetch(`https://weather.example.com/${city}?unit=${unit}`, { signal }); // ends with the call
    return { city, forecast: await response.text() };
  },
});
// #endregion define
assert.deepEqual(await runTool(weather, { city: "Oslo" }).then((outcome) => outcome.kind), "completed");

// #region json-schema
const clock = defineTool<{ zone: string }>({
  name: "get_time",
  description: "Time of day in a time zone",
  inputSchema: { type: "object", properties: { zone: { type: "string" } }, required: ["zone"] },
  execute: ({ zone }) => new Date().toLocaleTimeString("en", { timeZone: zone }),
});
// #endregion json-schema
assert.equal((await runTool(clock, { zone: "Europe/Oslo" })).kind, "completed");
// Plain JSON Schema does not validate arguments. The error comes from the tool itself.
assert.equal((await runTool(clock, { zone: "Nowhere" })).kind, "failed");

// #region traits
const store = defineTool({
  name: "store",
  description: "Stores a note",
  inputSchema: z.object({ note: z.string() }),
  sequential: true, // never runs in parallel with another call
  timeoutMs: 30_000, // from the start of the call to its end
  idleTimeoutMs: 5_000, // between two calls of progress() or heartbeat()
  idempotent: true, // running it twice does no harm ...
  retry: { maxAttempts: 3 }, // ... so it may be retried
  replay: "safe", // and may run again after a crash
  async execute({ note }, { progress, idempotencyKey }) {
    progress({ storing: note.length });
    return { storedAs: idempotencyKey };
  },
});
// #endregion traits
assert.deepEqual(await runTool(store, { note: "x" }).then((outcome) => outcome.kind === "completed" && outcome.data), {
  storedAs: "test/i0/tool/0/store",
});

// #region results
const send = defineTool({
  name: "send",
  description: "Sends a message and shows a chart",
  inputSchema: z.object({ to: z.string() }),
  execute({ to }) {
    if (to === "nobody") return toolResult({ success: false, message: "There is no such person." });
    if (!to.includes("@")) throw new Error("The address needs an @."); // the model reads this
    return toolResult({
      data: { sent: true },
      content: [{ type: "image", mediaType: "image/png", data: "iVBORw0KGgo=" }], // the model sees it
      metadata: { rows: 1_200 }, // listeners of "tool-end" get it, the model does not
      endTurn: true, // the run ends as completed after the calls of this message
    });
  },
});
// #endregion results
assert.deepEqual(
  await runTool(send, { to: "ada" }).then((outcome) => outcome.kind === "failed" && outcome.error.message),
  "The address needs an @.",
);
const heard: unknown[] = [];
assert.equal(
  (await runTool(send, { to: "ada@example.com" }, { onMetadata: (metadata) => heard.push(metadata) })).kind,
  "completed",
);
assert.deepEqual(heard, [{ rows: 1_200 }]);

{
  const query = defineTool({
    name: "query",
    description: "Asks the database",
    inputSchema: z.object({ sql: z.string() }),
    execute() {
      throw new FatalToolError("The licence has been revoked.");
    },
  });
  const provider = createMockProvider([toolCall("query", { sql: "select 1" })]);
  const { reason } = await runToolLoop({ provider, tools: [query], messages: [{ role: "user", content: "Go." }] });
  assert.equal(reason.kind, "fatal-tool-error");
}

{
  const provider = createMockProvider([[text("Noted: you like tides."), toolCall("remember", { fact: "likes tides" })]], {
    family: "storyteller",
  });
  const messages = [{ role: "user", content: "I like tides." }] as const;
  // #region pre-tool-text
  const remember = defineTool({
    name: "remember",
    description: "Keeps a fact",
    inputSchema: z.object({ fact: z.string() }),
    execute: () => "kept",
  });
  const { reason, text: said } = await runToolLoop({
    provider, // says "Noted: you like tides." and calls `remember`, in one iteration
    tools: [remember],
    messages,
    middleware: [preToolText({ suppressFollowUpAfterText: ["remember"] })],
  });
  // `reason` is { kind: "pre-tool-text" }, and `said` is "Noted: you like tides." The tool ran, and the run then ended.
  // #endregion pre-tool-text
  assert.deepEqual([reason.kind, said, provider.calls], ["pre-tool-text", "Noted: you like tides.", 1]);
}

const outcome = await runTool(weather, { city: "Oslo" });
assert(outcome.kind === "completed");
assert.deepEqual(outcome.data, { city: "Oslo", forecast: '{"ok":true}' });

const refused = await runTool(weather, { city: 42 });
assert(refused.kind === "invalid-input");
assert.deepEqual(refused.issues[0]?.path, ["city"]);

{
  // #region test-clock
  const stuck = defineTool({
    name: "stuck",
    description: "Never ends",
    inputSchema: { type: "object" },
    execute: () => new Promise(() => {}),
  });
  const testClock = createTestClock();
  const running = runTool(stuck, {}, { clock: testClock, timeouts: { toolMs: 1_000 } });
  await testClock.advance(1_000);
  assert.equal((await running).kind, "timed-out");
  assert.equal(testClock.pending, 0); // no timer is left
  // #endregion test-clock
}

{
  // #region once
  const pay = defineTool({
    name: "pay",
    description: "Charges the customer's card",
    inputSchema: z.object({ cents: z.number().int() }),
    replay: "safe", // only because the service recognizes the key
    async execute({ cents }, { signal, idempotencyKey }) {
      const headers = { "idempotency-key": idempotencyKey };
      const init = { method: "POST", headers, body: JSON.stringify({ cents }), signal };
      const { ok } = await fetch("https://payments.example.com/charges", init);
      return { charged: ok };
    },
  });
  // #endregion once
  assert.deepEqual((await runTool(pay, { cents: 900 })).kind, "completed");
  assert.deepEqual(requests.at(-1)?.headers, { "idempotency-key": "test/i0/tool/0/pay" });
}

// #region registry
interface RemoteTool {
  readonly name: string;
  readonly about: string;
  readonly schema: JsonSchema;
}
interface Remote {
  readonly tools: readonly RemoteTool[];
  call(name: string, args: unknown, options: { readonly signal: AbortSignal }): Promise<unknown>;
  check(schema: JsonSchema, args: unknown): readonly string[];
}

function remoteTools(remote: Remote): ToolRegistry {
  // Return the same array until the tools change.
  const definitions = remote.tools.map(({ name, about, schema }) => ({ name, description: about, inputSchema: schema }));
  const schemas = new Map(remote.tools.map(({ name, schema }) => [name, schema]));
  return {
    definitions: () => definitions,
    executeTool: (name, args, { signal }) => remote.call(name, args, { signal }),
    validate(name, args) {
      const problems = remote.check(schemas.get(name) ?? {}, args);
      return problems.length === 0 ? { value: args } : { issues: problems.map((message) => ({ message })) };
    },
  };
}
// #endregion registry

{
  const tools = remoteTools({
    tools: [{ name: "ping", about: "Answers", schema: { type: "object", properties: { n: {} } } }],
    call: async (_name, args) => ({ pong: args }),
    check: (_schema, args) => (JSON.stringify(args).includes('"n"') ? [] : ["n is missing"]),
  });
  const script = createMockProvider([[toolCall("ping"), toolCall("ping", { n: 1 })], text("Done.")]);
  const { functionHistory } = await runToolLoop({ provider: script, tools, messages: [{ role: "user", content: "Go." }] });
  assert.deepEqual(
    functionHistory.map((entry) => entry.outcome),
    ["invalid-input", "completed"],
  );
}
