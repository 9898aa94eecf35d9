// A run that uses an AI SDK model and tool.

import assert from "node:assert/strict";
import { tool } from "ai";
import { runToolLoop, withRetry } from "turnwright";
import { aiSdkModel } from "turnwright/ai-sdk";
import { importTools } from "turnwright/interop";
import { z } from "zod";
import { callTool, createModel, say } from "./ai-sdk-model.ts";

const model = createModel([[callTool("get_forecast", { city: "Oslo" })], [say("Yes, take a coat.")]]);

// #region kept
const getForecast = tool({
  description: "Weather of the next days",
  inputSchema: z.object({ city: z.string() }),
  execute: ({ city }) => ({ city, degrees: 7 }),
});
const result = await runToolLoop({
  provider: withRetry(aiSdkModel({ model })), // openai("gpt-5"), anthropic("claude-sonnet-4-6"), ...
  tools: importTools({ get_forecast: getForecast }), // made by `tool()` of `ai`
  messages: [{ role: "user", content: "Do I need a coat in Oslo?" }],
});
// #endregion kept

assert.deepEqual([result.status, result.text], ["completed", "Yes, take a coat."]);
assert.equal(model.doStreamCalls.length, 2);
console.log("ai-sdk-kept: an AI SDK model and tool run in turnwright.");
