// The model and the tools of the projects in this folder. A script plays the model, and says when its stream closes.

import type { Provider, Tool } from "turnwright";
import { createMockProvider, stall, text, toolCall } from "turnwright/testing";

const script = createMockProvider(({ messages }) => {
  if (messages.at(-1)?.role === "tool") return text("Yes, take a coat.", { chunks: 2 });
  if (JSON.stringify(messages).includes("Wait.")) return [text("One moment"), stall()];
  return toolCall("get_forecast", { city: "Oslo" });
});

export const provider: Provider = {
  id: script.id,
  model: script.model,
  async *stream(request, context) {
    try {
      yield* script.stream(request, context);
    } finally {
      console.log("the model's stream is closed");
    }
  },
};

export const tools: readonly Tool[] = [
  {
    name: "get_forecast",
    description: "Weather of the next days",
    inputSchema: { type: "object" },
    execute: () => ({ city: "Oslo", degrees: 7 }),
  },
];
