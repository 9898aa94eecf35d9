// Tools that were made with other libraries, and registries that are merged.

import { betaZodTool } from "@anthropic-ai/sdk/helpers/beta/zod";
import { tool as langChainTool } from "@langchain/core/tools";
import { tool as agentsTool } from "@openai/agents-core";
import { tool } from "ai";
import assert from "node:assert/strict";
import {
  createToolRegistry,
  defineTool,
  runToolLoop,
  type ToolRegistry,
  mergeRegistries,
  withFilter,
  withPrefix,
} from "turnwright";
import { fromJsonSchema, withValidation } from "turnwright/json-schema";
import { createMockProvider, runTool, text, toolCall } from "turnwright/testing";
import { importTool, importTools } from "turnwright/interop";
import { z } from "zod";

const messages = [{ role: "user", content: "How is the weather in Oslo?" }] as const;

// #region import
const weather = tool({
  description: "Weather of a city",
  inputSchema: z.object({ city: z.string() }),
  execute: ({ city }) => `Rain in ${city}.`,
});

const provider = createMockProvider([toolCall("get_weather", { city: "Oslo" }), text("It rains.")]);
const result = await runToolLoop({
  provider,
  tools: [importTool(weather, { name: "get_weather", timeoutMs: 10_000 })],
  messages,
});
// #endregion import
assert.equal(result.text, "It rains.");
assert.deepEqual(
  result.functionHistory.map(({ functionResponse }) => functionResponse.response.result),
  ["Rain in Oslo."],
);

const sendMail = agentsTool({
  name: "send_mail",
  description: "Sends a mail",
  parameters: z.object({ to: z.string() }),
  needsApproval: true,
  errorFunction: null,
  execute: async ({ to }) => `sent to ${to}`,
});
const search = betaZodTool({
  name: "search",
  description: "Searches the web",
  inputSchema: z.object({ query: z.string() }),
  run: ({ query }) => `Nothing about ${query}.`,
});
const readFile = langChainTool(async ({ path }: { path: string }) => `Text of ${path}`, {
  name: "read_file",
  description: "Reads a file",
  schema: z.object({ path: z.string() }),
});

// #region import-all
const tools = importTools(
  { get_weather: weather, send_mail: sendMail, search, read_file: readFile }, // from four libraries
  { get_weather: { idempotent: true, retry: { maxAttempts: 3 } }, read_file: { eager: true } },
);
// #endregion import-all
const [, mail, find, read] = tools;
assert(mail && find && read);
assert.deepEqual([typeof mail.needsApproval, find.name, read.eager], ["function", "search", true]);
assert.equal((await runTool(find, { query: 7 })).kind, "invalid-input");
assert.deepEqual(
  await runTool(read, { path: "a.md" }).then((outcome) => outcome.kind === "completed" && outcome.data),
  "Text of a.md",
);

const crm: ToolRegistry = {
  definitions: () => crmTools,
  executeTool: (name, args) => ({ name, args }),
};
const crmTools = ["search", "delete"].map((name) => ({
  name,
  description: `${name}s customers`,
  inputSchema: { type: "object", properties: { id: { type: "integer" } }, required: ["id"] },
}));

// #region merge
const everything = mergeRegistries(
  tools, // an array, or any registry
  withPrefix(withFilter(crm, ["search"]), "crm_"), // "crm_search"; "delete" cannot be called at all
  withFilter(createToolRegistry([read]), ({ name }) => name !== "read_file"),
);
// #endregion merge
assert.deepEqual(
  everything.definitions().map(({ name }) => name),
  ["get_weather", "send_mail", "search", "read_file", "crm_search"],
);

// #region from-json-schema
const clock = defineTool({
  name: "get_time",
  description: "Time of day in a time zone",
  inputSchema: fromJsonSchema<{ zone: string }>({
    type: "object",
    properties: { zone: { type: "string", pattern: "^[A-Za-z]+/[A-Za-z_]+$" } },
    required: ["zone"],
  }),
  execute: ({ zone }) => new Date().toLocaleTimeString("en", { timeZone: zone }),
});
// #endregion from-json-schema
assert.equal((await runTool(clock, { zone: "Europe/Oslo" })).kind, "completed");
assert.equal((await runTool(clock, { zone: "Oslo" })).kind, "invalid-input");

const checked = withValidation(everything); // validates arguments with the schema that the model sees, if nothing else does
assert.deepEqual(checked.validate?.("crm_search", { id: "7" }), {
  issues: [{ message: 'The type "string" is not allowed. Expected type: "integer"', path: ["id"] }],
});

const checkedMail = importTool(sendMail, { inputSchema: z.object({ to: z.email() }) });
assert.equal((await runTool(checkedMail, { to: "nobody" })).kind, "invalid-input");
