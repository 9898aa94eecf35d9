import { describe, expect, it } from "vitest";
import { defineTool, type LoopEvent, type LoopOptions } from "turnwright";
import { createMockProvider, text, toolCall } from "turnwright/testing";
import type { LiveRun } from "../../src/host/durable/durable-store.ts";
import { createEngine, runId, settle } from "./durable-engine.ts";

function textOf(events: readonly LoopEvent[]): string {
  let said = "";
  for (const event of events) {
    if (event.type === "text-delta") said += event.text;
    else if (event.type === "attempt-discarded") said = "";
  }
  return said;
}

describe("a durable run with several executions", () => {
  it("emits the events of the current execution even if an aborted execution starts later", async () => {
    const engine = createEngine();
    const execute = engine.createProcess();
    const current = execute({});
    const lost = new AbortController();
    lost.abort(new Error("The connection was lost."));
    expect(await execute({}, { signal: lost.signal })).toBeUndefined();
    expect(JSON.parse((await current) ?? "{}")).toMatchObject({ status: "completed", text: "Hello." });
    expect(textOf(engine.events())).toBe("Hello.");
  });

  it("emits the text of a model request only once if a later execution starts during the request", async () => {
    const engine = createEngine();
    let release: () => void = () => {};
    const released = new Promise<void>((resolve) => (release = resolve));
    const provider = createMockProvider([text("Hello.")]);
    const slow: LoopOptions["provider"] = {
      ...provider,
      async *stream(...given) {
        await released;
        yield* provider.stream(...given);
      },
    };
    const first = engine.createProcess()({ provider: slow });
    await settle();
    await engine.store.begin(runId, 99);
    release();
    expect(await first).toBeUndefined();
    expect([...engine.records.keys()]).not.toContain("i0/request/model");
    await engine.createProcess()({});
    expect(textOf(engine.events())).toBe("Hello.");
  });

  it("keeps the events of a recorded call that waited in an earlier execution", async () => {
    const engine = createEngine();
    const book = defineTool({
      name: "book",
      description: "Books a room",
      inputSchema: { type: "object" },
      needsApproval: true,
      execute: () => "Room 7",
    });
    const options = {
      provider: createMockProvider(({ iteration }) => [iteration === 0 ? toolCall("book", {}) : text("Booked.")]),
      tools: [book],
    };
    const live = new Map<string, LiveRun>();
    const first = engine.createProcess(live)(options);
    await settle();
    live.get(runId)?.abandon();
    expect(await first).toBeUndefined();
    for (const id of engine.waits()) engine.send({ verb: "answer", id, answer: { kind: "approve" } });
    await engine.createProcess()(options);
    const call = ["tool-args-delta", "tool-args-end", "approval-asked", "approval-decided", "tool-start", "tool-end"];
    const answer = ["iteration-start", "text-delta", "iteration-end"];
    expect(engine.events().map(({ type }) => type)).toEqual([
      "run-start",
      "iteration-start",
      ...call,
      "iteration-end",
      ...answer,
      "run-end",
    ]);
  });
});
