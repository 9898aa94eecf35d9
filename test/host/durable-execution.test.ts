import { describe, expect, it } from "vitest";
import { defineTool, finalAnswer } from "turnwright";
import { createMockProvider, text, toolCall, wait } from "turnwright/testing";
import type { DurableStore, LiveRun } from "../../src/host/durable/durable-store.ts";
import { executeDurableRun, type RunFacts, type RunSite } from "../../src/host/durable/execute-durable-run.ts";
import { factsOf } from "./durable-engine.ts";

/** The run has no messages. The first request of each kind in `failing` fails. */
function createSite(failing: ReadonlySet<string> = new Set()): RunSite {
  const failures = new Set(failing);
  let execution = 0;
  const answer =
    <T>(name: string, value: () => T) =>
    async (): Promise<T> => {
      if (failures.delete(name)) throw new Error(`The database is away for ${name}.`);
      return value();
    };
  const store: Partial<DurableStore> = {
    mayRepeat: () => true,
    begin: answer("begin", () => ({ execution: (execution += 1), events: 0, stalls: 0 })),
    append: async (_runId, by) => by === execution,
    readEvents: async () => [],
    readRecords: answer("readRecords", () => []),
    readMessages: answer("readMessages", () => []),
    readBlobs: async () => new Map(),
    resetStalls: async () => {},
  };
  return { store: store as DurableStore, live: new Map<string, LiveRun>(), waitFor: () => new Promise(() => {}) };
}

const messages = [{ role: "user" as const, content: "Go." }];

describe("a durable run's execution", () => {
  it("repeats failed reads from the store without failing the run", async () => {
    const options = () => ({ provider: createMockProvider(() => text("Done.")), messages });
    const site = createSite(new Set(["begin", "readMessages", "readRecords"]));
    const end = await executeDurableRun(site, { runId: "r", fields: { options }, input: "{}" });
    expect((JSON.parse(factsOf(end) ?? "{}") as RunFacts).text).toBe("Done.");
  });

  it("records that its text comes from the extra iteration of finalAnswer", async () => {
    const provider = createMockProvider(({ toolChoice }) => (toolChoice === "none" ? text("So far.") : toolCall("look")));
    const look = defineTool({ name: "look", description: "Looks", inputSchema: { type: "object" }, execute: () => "seen" });
    const limits = { maxIterations: 1 };
    const options = () => ({ provider, tools: [look], messages, limits, middleware: [finalAnswer()] });
    const end = await executeDurableRun(createSite(), { runId: "r", fields: { options }, input: "{}" });
    const facts = JSON.parse(factsOf(end) ?? "{}") as RunFacts;
    expect([facts.text, facts.finalAnswer, facts.reason.kind]).toEqual(["So far.", true, "max-iterations"]);
  });

  it("ends when a later execution of the same run starts in the same process", async () => {
    let begun = 0;
    let isBegun: () => void = () => {};
    const firstBegun = new Promise<void>((resolve) => (isBegun = resolve));
    const options = () => {
      begun += 1;
      isBegun();
      return { provider: createMockProvider(() => (begun === 1 ? [wait(600_000)] : text("Done."))), messages };
    };
    const site = createSite();
    const execute = async () => factsOf(await executeDurableRun(site, { runId: "r", fields: { options }, input: "{}" }));
    const first = execute();
    await firstBegun;
    const ends = await Promise.all([first, execute(), execute()]);
    expect(ends.map((facts) => facts && (JSON.parse(facts) as RunFacts).text)).toEqual([undefined, undefined, "Done."]);
    expect([begun, site.live.size]).toEqual([2, 0]);
  });
});
