import fc from "fast-check";
import { expect, it } from "vitest";
import { type LoopEvent, type LoopOptions, type LoopResult, memoryJournal } from "turnwright";
import { recordEvents } from "turnwright/testing";
import { withAgent } from "../loop/random-agent.ts";
import { type Plan, plans } from "../loop/random-run.ts";
import { calmly, runPlan, savedOf } from "../loop/run-plan.ts";
import { checkPairs, toChunks } from "./check-chunks.ts";
import { findProblems, type PageMessage, readMessage, textOf, vendors } from "./vendors.ts";

interface Nested {
  readonly nested: boolean;
}

async function listen(
  { nested, ...plan }: Plan & Nested,
  more: Partial<LoopOptions> = {},
): Promise<readonly [LoopResult, readonly LoopEvent[]]> {
  const events: LoopEvent[][] = [];
  const { result } = await runPlan(plan, (own) => {
    events.push(recordEvents(own.events).events as LoopEvent[]);
    return { ...own, ...more, ...(nested ? { tools: withAgent(own) } : {}) };
  });
  return [result, events[0] ?? []];
}

const nested: fc.Arbitrary<Plan & Nested> = fc.tuple(plans, fc.boolean()).map(([plan, nested]) => ({ ...plan, nested }));

function outcomesOf({ messages }: LoopResult): ReadonlyMap<string, string> {
  const results = messages.flatMap((message) => (message.role === "tool" ? message.results : []));
  return new Map(results.map(({ callId, outcome }) => [`random:${callId}`, outcome]));
}

function checkCalls(message: PageMessage | undefined, result: LoopResult): void {
  const parts = (message?.parts ?? []).filter(({ toolCallId }) => toolCallId !== undefined);
  const shown = new Map(parts.map((part) => [part.toolCallId, part]));
  expect(shown.size).toBe(parts.length);
  for (const [id, outcome] of outcomesOf(result)) {
    const { state, preliminary } = shown.get(id) ?? {};
    if (outcome === "completed" || outcome === "restarted")
      expect({ id, state, preliminary }).toEqual({ id, state: "output-available" });
    // In a suspended run, calls after a waiting call may run later.
    else if (result.status === "suspended") expect(state).toMatch(/^(output|input|approval)-/);
    else expect(["output-error", "output-denied"]).toContain(state);
  }
  // When a run has ended, the page shows no call as running.
  if (result.status !== "suspended") for (const { state } of parts) expect(state).toMatch(/^output-/);
}

// To test more runs: CHUNKS=5000 SEED=7 npx vitest run test/ui-message-stream/random-runs.test.ts
const runs = Number(process.env["CHUNKS"] ?? 45);
const seed = Number(process.env["SEED"] ?? 20_260_101);

it.each(vendors)("createUIMessageMapper: an AI SDK $version UI shows every part of random runs", async (vendor) => {
  const { version } = vendor;
  await fc.assert(
    fc.asyncProperty(nested, async (plan) => {
      const [result, events] = await listen(plan);
      const chunks = toChunks(events, { version });
      expect(await findProblems(vendor, chunks)).toEqual([]);
      checkPairs(chunks);
      const message = await readMessage(vendor, chunks);
      expect(message?.id).toBe("random");
      const mayDouble = chunks.some(({ type }) => type === "data-attempt-discarded");
      if (!mayDouble) expect(textOf(message)).toBe(result.streamResults.map(({ text }) => text).join(""));
      // A page may show text of a discarded attempt only if the run has eager tools.
      expect(mayDouble && !(plan.eager && version !== 7)).toBe(false);
      checkCalls(message, result);
      expect(message?.metadata).toMatchObject({ status: result.status, reason: { kind: result.reason.kind } });
    }),
    { numRuns: runs, seed },
  );
});

it.each(vendors)(
  "createUIMessageMapper: random runs show the same text and calls after a reload in AI SDK $version",
  async (vendor) => {
    const { version } = vendor;
    await fc.assert(
      fc.asyncProperty(nested, async (plan) => {
        const [result] = await listen(plan);
        const calm = { ...calmly(plan), nested: plan.nested };
        const [again, events] = await listen(calm, { journal: memoryJournal(savedOf(result)) });
        const chunks = toChunks(events, { version });
        expect(await findProblems(vendor, chunks)).toEqual([]);
        checkPairs(chunks);
        const message = await readMessage(vendor, chunks);
        expect(textOf(message)).toBe(again.streamResults.map(({ text }) => text).join(""));
        checkCalls(message, again);
        const live = toChunks(events, { version, from: "live" });
        expect(await findProblems(vendor, live)).toEqual([]);
        checkPairs(live);
      }),
      { numRuns: runs / 3, seed },
    );
  },
);
