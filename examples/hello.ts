// The program that the README opens with. The first import makes `new OpenAI()` talk to a stand-in on this machine.

import assert from "node:assert/strict";
import { stopStandIn } from "./support/openai-stand-in.ts";

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

const result = await runToolLoop({
  provider: openaiChat({ client: new OpenAI(), model: "gpt-5-mini" }),
  tools: [getTime],
  messages: [{ role: "user", content: "Is it too late to call Tokyo?" }],
});

console.log(result.status, result.reason.kind, result.text);
// #endregion hello

assert.equal(result.status, "completed");
assert.equal(result.reason.kind, "answered");
assert.equal(result.iterations, 2);
assert.equal(result.toolCallsExecuted, 1);
assert.match(result.text, /^It is "?\d\d:\d\d:\d\d"? in Tokyo\.$/);
await stopStandIn();
