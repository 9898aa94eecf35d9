// Plays the model if no key is set. It answers what it reads, so it also goes on correctly after an approval.

import type { Provider } from "turnwright";
import { createMockProvider, text, toolCall } from "turnwright/testing";

export const script: Provider = createMockProvider(({ messages }) => {
  const last = messages.at(-1);
  if (last?.role !== "tool") return toolCall("find_table", { guests: 4 });
  if (last.results[0]?.name === "find_table") return toolCall("book_table", { table: 7 });
  return text(last.results[0]?.outcome === "completed" ? "Table 7 is yours." : "I did not book a table.");
});
