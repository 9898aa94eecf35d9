import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { defineTool, type LoopOptions, type Tool } from "turnwright";
import { defineDurableLoop, launchWorker, type Worker } from "turnwright/dbos";
import { createMockProvider, text, toolCall } from "turnwright/testing";
import { type Postgres, startPostgres } from "../../examples/workers/start-postgres.ts";

let postgres: Postgres;
let worker: Worker;

/** With `forever`, calls of the tool run until they are cancelled. */
function toolOf(name: string, forever = false): Tool {
  return defineTool({
    name,
    description: name,
    inputSchema: { type: "object" },
    replay: "safe",
    execute: (_args, { signal }) =>
      forever ? new Promise((_resolve, reject) => signal.addEventListener("abort", () => reject(signal.reason))) : name,
  });
}

let code: {
  readonly tools: readonly Tool[];
  readonly system: string;
  readonly allowToolChange?: LoopOptions["allowToolChange"];
};

const loop = defineDurableLoop({
  name: "changing",
  options: ({ question }: { question: string }) => ({
    ...code,
    provider: createMockProvider(({ iteration, system }) =>
      iteration < 2 ? toolCall(iteration === 0 ? "find" : "wait", {}) : text(`Done by ${system}.`),
    ),
    messages: [{ role: "user" as const, content: question }],
  }),
});

beforeAll(async () => {
  postgres = await startPostgres();
}, 60_000);

afterAll(async () => {
  await worker.stop();
  await postgres.stop();
});

/** Stops the worker of the first version of the code during the second call. */
async function stopInside(id: string): Promise<void> {
  code = { tools: [toolOf("find"), toolOf("wait", true)], system: "version 1" };
  worker = await launchWorker({ databaseUrl: postgres.url });
  await loop.start(id, { question: "Go." });
  for await (const { event } of loop.events(id)) if (event.type === "tool-start" && event.name === "wait") break;
  await worker.stop();
}

describe("a durable run whose worker was stopped", () => {
  it("continues in the next worker, even with a changed system text", async () => {
    await stopInside("system");
    code = { tools: [toolOf("find"), toolOf("wait")], system: "version 2" };
    worker = await launchWorker({ databaseUrl: postgres.url });
    expect((await loop.result("system")).text).toBe("Done by version 2.");
    const outcomes: string[] = [];
    for await (const { event } of loop.events("system")) if (event.type === "tool-end") outcomes.push(event.outcome);
    expect(outcomes).toEqual(["completed", "completed"]);
    await worker.stop();
  }, 30_000);

  it("continues even if the tool of a finished call was removed", async () => {
    await stopInside("ended");
    code = { tools: [toolOf("wait")], system: "version 2" };
    worker = await launchWorker({ databaseUrl: postgres.url });
    expect((await loop.result("ended")).text).toBe("Done by version 2.");
    await worker.stop();
  }, 30_000);

  it("without allowToolChange, rejects if the tool of an unfinished call was removed", async () => {
    await stopInside("tools");
    code = { tools: [toolOf("find")], system: "version 2" };
    worker = await launchWorker({ databaseUrl: postgres.url });
    await expect(loop.result("tools")).rejects.toThrow("wait");
    code = { ...code, allowToolChange: ({ toolName }) => toolName === "wait" };
    await loop.retry("tools");
    expect((await loop.result("tools")).text).toBe("Done by version 2.");
  }, 30_000);
});
