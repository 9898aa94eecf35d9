// What users write; it only has to compile, as an ES module and as CommonJS, against the published types.

import OpenAI from "openai";
import { defineTool, type LoopResult, runToolLoop, streamToolLoop } from "turnwright";
import { openaiChat } from "turnwright/openai";
import { createMockProvider, text } from "turnwright/testing";
import { z } from "zod";

const weather = defineTool({
  name: "get_weather",
  description: "Current weather of a city",
  inputSchema: z.object({ city: z.string() }),
  execute: async ({ city }, { signal }) => `${city.toUpperCase()} ${signal.aborted}`,
});

/** Both providers, in one loop each. */
export async function ask(question: string): Promise<LoopResult> {
  const messages = [{ role: "user", content: question }] as const;
  const stream = streamToolLoop({ provider: createMockProvider([text("Yes.")]), messages });
  for await (const event of stream) if (event.type === "text-delta") console.log(event.text);
  return runToolLoop({ provider: openaiChat({ client: new OpenAI(), model: "gpt-5" }), tools: [weather], messages });
}
