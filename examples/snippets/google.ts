// Runs the loop with Google's client. The import of the stand-in replaces the Gemini API with a local server, so no key is
// needed.

import assert from "node:assert/strict";
import { stopStandIn } from "../support/google-stand-in.ts";
import { GoogleGenAI } from "@google/genai";
import { z } from "zod";
import { defineTool, runToolLoop } from "turnwright";
import { googleGenerateContent } from "turnwright/google";

const getWeather = defineTool({
  name: "get_weather",
  description: "Current weather of a city",
  inputSchema: z.object({ city: z.string() }),
  execute: ({ city }) => ({ city, celsius: 3 }),
});
const tools = [getWeather];

// #region google
const provider = googleGenerateContent({
  client: new GoogleGenAI(), // reads GEMINI_API_KEY from the environment
  model: "gemini-3-flash-preview",
  thinking: { includeThoughts: true },
});
const result = await runToolLoop({
  provider,
  tools,
  messages: [{ role: "user", content: "Do I need a coat in Oslo?" }],
});
// #endregion google

assert.deepEqual([result.status, result.text, result.toolCallsExecuted], ["completed", "Take a coat.", 1]);
await stopStandIn();
