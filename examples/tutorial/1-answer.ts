// Step 1 of the tutorial: an answer.

import { runToolLoop } from "turnwright";
import { createMockProvider, text } from "turnwright/testing";

const provider = createMockProvider([text("Hello! Tell me the number of your order, such as A-1042.")]);

const result = await runToolLoop({
  provider,
  system: "You help the customers of a tea shop. Be brief.",
  messages: [{ role: "user", content: "Hi! My tea has not arrived." }],
});

console.log(result.status);
console.log(result.text);
