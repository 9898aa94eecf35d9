// Runs the loop with Anthropic's client. The import of the stand-in replaces api.anthropic.com with a local server, so no key is
// needed.

import assert from "node:assert/strict";
import { stopStandIn } from "./support/anthropic-stand-in.ts";

import Anthropic from "@anthropic-ai/sdk";
import { z } from "zod";
import { defineTool, runToolLoop } from "turnwright";
import { anthropicMessages } from "turnwright/anthropic";

const getTime = defineTool({
  name: "get_time",
  description: "Time of day in a time zone, such as Europe/Oslo",
  inputSchema: z.object({ timeZone: z.string() }),
  execute: ({ timeZone }) => new Date().toLocaleTimeString("en-GB", { timeZone }),
});

// #region anthropic
const provider = anthropicMessages({ client: new Anthropic(), model: "claude-sonnet-4-6", cache: true });
// #endregion anthropic
const result = await runToolLoop({
  provider,
  tools: [getTime],
  messages: [{ role: "user", content: "Is it too late to call Tokyo?" }],
});

assert.deepEqual([result.status, result.text], ["completed", "It is late in Tokyo."]);
assert.deepEqual([result.iterations, result.toolCallsExecuted], [2, 1]);
await stopStandIn();
