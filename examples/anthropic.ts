// Runs the loop with Anthropic's client. The import of the stand-in replaces api.anthropic.com with a local server, so no key is
// needed.

import assert from "node:assert/strict";
import { stopStandIn } from "./support/anthropic-stand-in.ts";

import Anthropic from "@anthropic-ai/sdk";
import { z } from "zod";
import { defineTool, type Message, runToolLoop, streamToolLoop } from "turnwright";
import { anthropicMessages } from "turnwright/anthropic";

const getTime = defineTool({
  name: "get_time",
  description: "Time of day in a time zone, such as Europe/Oslo",
  inputSchema: z.object({ timeZone: z.string() }),
  execute: ({ timeZone }) => new Date().toLocaleTimeString("en-GB", { timeZone }),
});

// #region anthropic
const provider = anthropicMessages({
  client: new Anthropic(), // reads ANTHROPIC_API_KEY from the environment
  model: "claude-sonnet-4-6",
  thinking: { type: "adaptive" },
  cache: true,
});
// #endregion anthropic
const result = await runToolLoop({
  provider,
  tools: [getTime],
  messages: [{ role: "user", content: "Is it too late to call Tokyo?" }],
});

assert.deepEqual([result.status, result.text], ["completed", "It is late in Tokyo."]);
assert.deepEqual([result.iterations, result.toolCallsExecuted], [2, 1]);

const tools = [getTime];
const messages: readonly Message[] = [{ role: "user", content: "Is it too late to call Tokyo?" }];
{
  const shown: string[] = [];
  const process = { stdout: { write: (part: string): void => void shown.push(part) } };
  // #region thoughts
  for await (const event of streamToolLoop({ provider, tools, messages })) {
    if (event.type === "reasoning-delta") process.stdout.write(event.text);
  }
  // #endregion thoughts
  assert.equal(shown.join(""), "At night, people sleep.");
}
{
  // #region cache
  const provider = anthropicMessages({ client: new Anthropic(), model: "claude-sonnet-4-6", cache: true });
  const { usage } = await runToolLoop({ provider, tools, messages });
  console.log(usage.inputTokens, usage.cachedInputTokens, usage.cacheWriteTokens); // all, read from the cache, written to it
  // #endregion cache
  assert.equal(typeof usage.inputTokens, "number");
}
await stopStandIn();
