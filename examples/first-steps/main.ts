// Runs the first examples of the README: stop, steer, approve and resume.

await import("./stop.ts");
await import("./steer.ts");
await import("./approve.ts");
