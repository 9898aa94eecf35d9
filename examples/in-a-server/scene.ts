// The scripted model and the tool that all servers in this folder use.

import { z } from "zod";
import { defineTool, type Tool } from "turnwright";
import { createMockProvider, fail, type MockProvider, stall, text, toolCall } from "turnwright/testing";

/** A model that calls the tool and then answers. If the question contains "Wait.", the answer never ends. With "Fail.", it fails. */
export const provider: MockProvider = createMockProvider(({ messages }) => {
  if (messages.at(-1)?.role === "tool") return text("Yes, take a coat.", { chunks: 2 });
  if (JSON.stringify(messages).includes("Wait.")) return [text("One moment"), stall()];
  if (JSON.stringify(messages).includes("Fail.")) return [fail({ status: 401 })];
  return toolCall("get_forecast", { city: "Oslo" });
});

/** Counts the tool calls. `onCall` runs during each call. */
export const forecasts: { count: number; onCall?: () => void } = { count: 0 };

const forecast = defineTool({
  name: "get_forecast",
  description: "Weather of the next days",
  inputSchema: z.object({ city: z.string() }),
  execute: ({ city }) => {
    forecasts.count += 1;
    forecasts.onCall?.();
    return { city, degrees: 7 };
  },
});

export const tools: readonly Tool[] = [forecast];
