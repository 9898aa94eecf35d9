// Runs the programs of the migration guides, with the other libraries and with turnwright.

await import("./ai-sdk-before.ts");
await import("./ai-sdk-kept.ts");
await import("./ai-sdk-after.ts");
await import("./openai-agents-before.ts");
await import("./openai-agents-kept.ts");
await import("./openai-agents-after.ts");
await import("./histories.ts");
