// The scripted model, the tool and the messages that all examples in this folder use.

import { setTimeout as sleep } from "node:timers/promises";
import { z } from "zod";
import { defineTool, type Message, type Provider, type Tool } from "turnwright";
import { createMockProvider, text, toolCall } from "turnwright/testing";

export const messages: readonly Message[] = [{ role: "user", content: "Do I need a coat in Oslo?" }];

const forecast = defineTool({
  name: "get_forecast",
  description: "Weather of the next days",
  inputSchema: z.object({ city: z.string() }),
  execute: async ({ city }, { signal }) => {
    await sleep(20, undefined, { signal });
    return { city, degrees: 7 };
  },
});

export const tools: readonly Tool[] = [forecast];

export function createProvider(): Provider {
  return createMockProvider([[text("Let me look. "), toolCall("get_forecast", { city: "Oslo" })], text("Yes, take a coat.")]);
}
