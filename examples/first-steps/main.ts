// Runs the first examples of the README: stop, steer, approve and resume.

await import("./stop-and-steer.ts");
await import("./approve.ts");
