// Runs the programs in the two migration guides, first with the other library and then with turnwright.

await import("./ai-sdk-before.ts");
await import("./ai-sdk-kept.ts");
await import("./ai-sdk-after.ts");
await import("./openai-agents-before.ts");
await import("./openai-agents-kept.ts");
await import("./openai-agents-after.ts");
