// The testing kit.

export * from "./mock-parts.ts";
export * from "./mock-provider.ts";
export * from "./test-clock.ts";
export * from "./record-events.ts";
