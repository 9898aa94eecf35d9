// Runs the programs of both migration guides: each one with the other library, then with turnwright.

await import("./ai-sdk-before.ts");
await import("./ai-sdk-kept.ts");
await import("./ai-sdk-after.ts");
await import("./openai-agents-before.ts");
await import("./openai-agents-kept.ts");
await import("./openai-agents-after.ts");
