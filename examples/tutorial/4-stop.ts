// Step 4 of the tutorial: a stop.

import { z } from "zod";
import { createLoopControl, defineTool, streamToolLoop } from "turnwright";
import { createMockProvider, text, toolCall } from "turnwright/testing";

// #region stop
const findOrder = defineTool({
  name: "find_order",
  description: "Finds an order by its number, such as A-1042",
  inputSchema: z.object({ id: z.string() }),
  execute: (_args, { signal }) =>
    new Promise((_resolve, reject) => {
      // The database of the shop does not answer today.
      signal.addEventListener("abort", () => reject(signal.reason));
    }),
});

const control = createLoopControl();
process.once("SIGINT", () => control.stop({ requester: "Ctrl+C" }));
setTimeout(() => control.stop({ requester: "the customer" }), 300); // in your program: a button
// #endregion stop

const provider = createMockProvider([[text("Let me look."), toolCall("find_order", { id: "A-1042" })]]);

const stream = streamToolLoop({
  provider,
  tools: [findOrder],
  control,
  timeouts: { toolMs: 10_000 },
  system: "You help the customers of a tea shop. Be brief.",
  messages: [{ role: "user", content: "Where is my order A-1042?" }],
});

for await (const event of stream) {
  if (event.type === "text-delta") process.stdout.write(event.text);
  if (event.type === "tool-start") console.log(`\n[${event.name} starts]`);
  if (event.type === "tool-end") console.log(`[${event.name}: ${event.outcome}]`);
}
// #region result
const result = await stream.result;
console.log(result.status);
console.log(result.reason);
console.log(result.messages.map(({ role }) => role).join(", "));
// #endregion result
