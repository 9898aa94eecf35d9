// Plays the model if no key is set, and in the tests. It answers what it reads.

import type { Provider } from "turnwright";
import { createMockProvider, text, toolCall } from "turnwright/testing";

export const script: Provider = createMockProvider(({ messages }) => {
  const last = messages.at(-1);
  if (last?.role !== "tool") return [text("One moment. "), toolCall("find_price", { tea: "green" })];
  const [done] = last.results;
  if (done?.name === "find_price") return [text("Green tea costs 4 EUR. "), toolCall("place_order", { tea: "green", bags: 2 })];
  return text(done?.outcome === "completed" ? "Two bags are on their way." : "Then I order nothing.", { chunks: 6 });
});
