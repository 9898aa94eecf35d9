import fc from "fast-check";
import { expect, it } from "vitest";
import { type LoopEvent, type LoopOptions, type LoopResult, memoryJournal } from "turnwright";
import { recordEvents } from "turnwright/testing";
import { withAgent } from "../loop/random-agent.ts";
import { type Plan, plans } from "../loop/random-run.ts";
import { calmly, runPlan, savedOf } from "../loop/run-plan.ts";
import { readMessages, resultsOf, textOf, versions } from "./clients.ts";
import { checkEvents, toEvents } from "./mapping-stage.ts";

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

// To test more runs: EVENTS=5000 SEED=7 npx vitest run test/ag-ui/random-runs.test.ts
const runs = Number(process.env["EVENTS"] ?? 30);
const seed = Number(process.env["SEED"] ?? 20_260_101);

it.each(versions)("createAGUIMapper: an AG-UI %s client shows every part of random runs", async (version) => {
  await fc.assert(
    fc.asyncProperty(nested, async (plan) => {
      const [result, events] = await listen(plan);
      const sent = toEvents(events, { version });
      checkEvents(sent);
      const page = await readMessages(sent, version);
      const mayDouble = sent.some((event) => event.type === "CUSTOM" && event.name === "attempt-discarded");
      if (!mayDouble) expect(textOf(page)).toBe(result.streamResults.map(({ text }) => text).join(""));
      expect(mayDouble && !plan.eager).toBe(false);
      const outcomes = result.messages.flatMap((message) => (message.role === "tool" ? message.results : []));
      const shown = resultsOf(page);
      for (const { callId, outcome } of outcomes)
        if (outcome === "completed" || outcome === "restarted") expect([...shown.keys()]).toContain(`random:${callId}`);
    }),
    { numRuns: runs, seed },
  );
});

it.each(versions)(
  "createAGUIMapper: an AG-UI %s client shows the whole text of random runs after reloading from the journal",
  async (version) => {
    await fc.assert(
      fc.asyncProperty(nested, async (plan) => {
        const [result, before] = await listen(plan);
        const calm = { ...calmly(plan), nested: plan.nested };
        const [again, events] = await listen(calm, { journal: memoryJournal(savedOf(result)) });
        const whole = toEvents(events, { version });
        checkEvents(whole);
        const page = await readMessages(whole, version);
        expect(textOf(page)).toBe(again.streamResults.map(({ text }) => text).join(""));
        const live = toEvents(events, { version, from: "live" });
        checkEvents(live);
        const first = await readMessages(toEvents(before, { version }), version);
        await readMessages(live, version, first);
      }),
      { numRuns: Math.ceil(runs / 2), seed },
    );
  },
);
