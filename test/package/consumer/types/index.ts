import { defineTool, type LoopResult, runToolLoop, streamToolLoop, type Provider } from "turnwright";
import { z } from "zod";

const weather = defineTool({
  name: "get_weather",
  description: "Current weather of a city",
  inputSchema: z.object({ city: z.string() }),
  execute: async ({ city }, { signal }) => `${city.toUpperCase()} ${signal.aborted}`,
});

export async function ask(provider: Provider, question: string): Promise<LoopResult> {
  const messages = [{ role: "user", content: question }] as const;
  for await (const event of streamToolLoop({ provider, messages })) if (event.type === "text-delta") console.log(event.text);
  return runToolLoop({ provider, tools: [weather], messages });
}
