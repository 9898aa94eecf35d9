// Describes the same tool arguments with several schema libraries.

import { toStandardJsonSchema } from "@valibot/to-json-schema";
import { type } from "arktype";
import assert from "node:assert/strict";
import { defineTool, type JsonSchema } from "turnwright";
import { runTool } from "turnwright/testing";
import * as v from "valibot";
import { z } from "zod";
import * as mini from "zod/mini";

// #region libraries
const byValibot = defineTool({
  name: "get_weather",
  description: "Weather of a city",
  inputSchema: toStandardJsonSchema(v.object({ city: v.string(), days: v.optional(v.number(), 3) })),
  execute: ({ city, days }) => `${city}, ${days} days`,
});

const byArkType = defineTool({
  name: "get_weather",
  description: "Weather of a city",
  inputSchema: type({ city: "string", days: "number = 3" }),
  execute: ({ city, days }) => `${city}, ${days} days`,
});

const inputSchema = mini.object({ city: mini.string(), days: mini.optional(mini.number()) });
const byZodMini = defineTool({
  name: "get_weather",
  description: "Weather of a city",
  inputSchema,
  jsonSchema: z.toJSONSchema(inputSchema, { io: "input" }) as JsonSchema, // zod/mini schemas cannot convert themselves
  execute: ({ city, days = 3 }) => `${city}, ${days} days`,
});
// #endregion libraries

for (const tool of [byValibot, byArkType, byZodMini]) {
  const outcome = await runTool(tool, { city: "Oslo" });
  assert.equal(outcome.kind === "completed" && outcome.data, "Oslo, 3 days");
  assert.equal((await runTool(tool, { city: 7 })).kind, "invalid-input");
}
