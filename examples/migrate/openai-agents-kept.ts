// A run that uses a tool from OpenAI Agents.

import assert from "node:assert/strict";
import { tool } from "@openai/agents-core";
import { approve, runToolLoop } from "turnwright";
import { importTools } from "turnwright/interop";
import { createMockProvider, text, toolCall } from "turnwright/testing";
import { z } from "zod";

const provider = createMockProvider([toolCall("look_up_order", { id: "7" }), text("It is late.")]);

// #region kept
const lookUpOrder = tool({
  name: "look_up_order",
  description: "Status of an order",
  parameters: z.object({ id: z.string() }),
  execute: async ({ id }) => ({ id, isLate: true }),
});
const result = await runToolLoop({
  provider, // openaiResponses({ client: new OpenAI(), model: "gpt-5-mini" })
  tools: importTools([lookUpOrder]), // `@openai/agents` exports the same `tool`
  system: "Be short.",
  messages: [{ role: "user", content: "Where is order 7?" }],
  middleware: [approve()], // asks the function `needsApproval` of each tool
});
// #endregion kept

assert.deepEqual([result.status, result.text], ["completed", "It is late."]);
assert.deepEqual(result.functionHistory[0]?.functionResponse.response.result, { id: "7", isLate: true });
console.log("openai-agents-kept: a tool from OpenAI Agents runs in turnwright.");
