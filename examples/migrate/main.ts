// Runs the programs of the migration guides, with the other libraries and with turnwright.

import assert from "node:assert/strict";

await import("./ai-sdk-before.ts");
await import("./ai-sdk-kept.ts");
await import("./ai-sdk-after.ts");
await import("./openai-agents-before.ts");
await import("./openai-agents-kept.ts");
await import("./openai-agents-after.ts");
const before = await import("./openai-agents-desk-before.ts");
const after = await import("./openai-agents-desk-after.ts");
assert.deepEqual(after.facts, before.facts);
await import("./histories.ts");
