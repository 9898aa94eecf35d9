// The first two programs of the README: a question, and a follow-up question. The import of the stand-in replaces api.openai.com
// with a local server, so no key is needed.

import assert from "node:assert/strict";
import { refuseNext, stopStandIn } from "./support/openai-stand-in.ts";

// #region hello
import OpenAI from "openai";
import { z } from "zod";
import { defineTool, runToolLoop } from "turnwright";
import { openaiChat } from "turnwright/openai";

const getTime = defineTool({
  name: "get_time",
  description: "Time of day in a time zone, such as Europe/Oslo",
  inputSchema: z.object({ timeZone: z.string() }),
  execute: ({ timeZone }) => new Date().toLocaleTimeString("en-GB", { timeZone }),
});

const provider = openaiChat({ client: new OpenAI(), model: "gpt-5-mini" });
const result = await runToolLoop({
  provider,
  tools: [getTime],
  messages: [{ role: "user", content: "Is it too late to call Tokyo?" }],
});

console.log(result.status, result.error?.message ?? result.text);
// #endregion hello

assert.equal(result.status, "completed");
assert.equal(result.reason.kind, "answered");
assert.equal(result.iterations, 2);
assert.equal(result.toolCallsExecuted, 1);
assert.match(result.text, /^It is "?\d\d:\d\d:\d\d"? in Tokyo\.$/);

// #region live
import { streamToolLoop } from "turnwright";

const stream = streamToolLoop({
  provider,
  tools: [getTime],
  messages: [...result.messages, { role: "user", content: "And Lima?" }],
});
for await (const event of stream) {
  if (event.type === "text-delta") process.stdout.write(event.text);
}
const second = await stream.result; // a result, as from `runToolLoop`; its `messages` are the start of the next question
// #endregion live

assert.equal(second.reason.kind, "answered");
assert.match(second.text, /^It is "?\d\d:\d\d:\d\d"? in Lima\.$/);
assert.deepEqual(
  second.messages.map(({ role }) => role),
  ["user", "assistant", "tool", "assistant", "user", "assistant", "tool", "assistant"],
);

// If the service refuses the API key, `runToolLoop` does not throw. The result has the status "error".
refuseNext();
const refused = await runToolLoop({ provider, messages: [{ role: "user", content: "And Rome?" }] });
assert.equal(refused.status, "error");
assert("error" in refused.reason && "code" in refused.reason.error);
assert.equal(refused.reason.error.code, "auth");
assert.equal(refused.error?.message, refused.reason.error.message);
await stopStandIn();
