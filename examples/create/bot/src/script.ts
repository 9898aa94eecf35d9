// Plays the model if no key is set, and in the tests. It answers what it reads.

import type { Provider } from "turnwright";
import { createMockProvider, text, toolCall } from "turnwright/testing";

export const script: Provider = createMockProvider(({ messages }) => {
  const last = messages.at(-1);
  return last?.role === "tool"
    ? text(`You rolled ${JSON.stringify(last.results[0]?.result)}.`)
    : toolCall("roll_dice", { count: 2 });
});
