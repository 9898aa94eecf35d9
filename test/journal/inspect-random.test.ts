import fc from "fast-check";
import { expect, it } from "vitest";
import {
  type Journal,
  type LoopOptions,
  maskResults,
  type LoopResult,
  memoryJournal,
  type Middleware,
  type Message,
  prepareIteration,
  type SavedJournal,
  type Tool,
} from "turnwright";
import { inspectJournal } from "turnwright/journal";
import { createDurableStore } from "../loop/durable-store.ts";
import { tool } from "../loop/play.ts";
import { createAgent } from "../loop/random-agent.ts";
import { type Plan, plans } from "../loop/random-run.ts";
import { type More, runPlan } from "../loop/run-plan.ts";
import { factsIn, factsOf } from "./inspection.ts";

const agentFor = ({ approve }: Plan): Tool =>
  createAgent([tool("note", () => 1), tool("ask", () => 2, { needsApproval: approve === "ask" })], ["note", "ask"]);

const json = (value: unknown): unknown => JSON.parse(JSON.stringify(value ?? null));

const savedOf = (journal: unknown): SavedJournal => JSON.parse(JSON.stringify(journal)) as SavedJournal;

/** A journal and its content. */
interface Keeping {
  open(): Journal;
  /** Copies the records, because a run adds more of them during an inspection. */
  copy(): Keeping;
  text(): string;
  size(): number;
}

function keepDurably(records: Iterable<readonly [key: string, answer: string]> = []): Keeping {
  const store = createDurableStore();
  for (const [key, answer] of records) store.records.set(key, answer);
  return {
    open: () => store.open(),
    copy: () => keepDurably(store.records),
    text: () => JSON.stringify([...store.records]),
    size: () => store.records.size,
  };
}

function keepInMemory(saved?: SavedJournal): Keeping {
  const journal = memoryJournal(saved);
  return {
    open: () => journal,
    copy: () => keepInMemory(savedOf(journal)),
    text: () => JSON.stringify(journal),
    size: () => journal.keys().length,
  };
}

/** While calls are running, the inspection also has the results and the edited arguments of the calls that have ended. */
function withoutEnded(messages: readonly Message[], count: number): readonly Message[] {
  const more = messages.slice(count);
  expect(more.map(({ role }) => role).filter((role) => role !== "tool")).toEqual([]);
  expect(more.length).toBeLessThanOrEqual(1);
  if (more.length === 0) return messages;
  return messages.slice(0, count).map((message, index) => {
    if (index !== count - 1 || message.role !== "assistant") return message;
    return { ...message, content: message.content.map((part) => ({ ...part, approvedArgs: undefined })) };
  });
}

const isUserText = (message: Message | undefined, start: string): boolean =>
  message?.role === "user" && typeof message.content === "string" && message.content.startsWith(start);

interface Playing {
  readonly plan: Plan;
  readonly nested: boolean;
  readonly keeping: Keeping;
  readonly more?: Partial<LoopOptions>;
}

async function play({ plan, nested, keeping, more = {} }: Playing): Promise<LoopResult> {
  const before = keeping.size();
  const journal = keeping.open();
  const compare = async (known: { readonly messages: readonly Message[]; readonly usage?: unknown }): Promise<void> => {
    // If an execution has recorded nothing, the journal does not show that it took place.
    if (keeping.size() === before) return;
    const { status, messages, usage } = await inspectJournal(keeping.copy().open());
    // A memory journal does not distinguish a running call from a waiting call.
    expect(journal.durable ? ["running"] : ["running", "suspended"]).toContain(status);
    if (status === "running") expect(json(withoutEnded(messages, known.messages.length))).toEqual(json(known.messages));
    if (known.usage !== undefined) expect(json(usage)).toEqual(json(known.usage));
  };
  const told: Promise<void>[] = [];
  const watch = (one: Tool): Tool => {
    // Eager tools run before their stream is recorded, so the journal does not show their calls yet.
    if (one.eager === true || one.name === "context_release") return one;
    const execute: Tool["execute"] = (args, context) => {
      told.push(compare({ messages: [...context.messages] }));
      return one.execute?.(args, context);
    };
    return { ...one, execute };
  };
  const own: More = (given) => {
    const tools = (given.tools as readonly Tool[]).map((one) => (nested && one.name === "quick" ? agentFor(plan) : watch(one)));
    // The comparison removes the message with the context items, which no journal has.
    const left = ["mask-results", "prepare-iteration"];
    const unmasked = maskResults({ keepIterations: Number.POSITIVE_INFINITY, minTokens: 1e9 });
    const others = (given.middleware ?? []).filter((one) => one && !left.includes(one.name));
    let continuation = 0;
    const noting: Middleware = {
      name: "note",
      pure: true,
      begin: () => ({
        request: (request, next, { state }) => {
          ({ continuation } = state);
          return next(request);
        },
      }),
    };
    const prepare: Parameters<typeof prepareIteration>[0] = ({ messages, usage }) => {
      const sent = messages.filter((message) => !isUserText(message, "Context:"));
      // The journal records a warning about a loop with the answer of its request.
      if (continuation === 0 && isUserText(sent.at(-1), "You repeated identical tool calls")) sent.pop();
      told.push(compare({ messages: sent, usage }));
      return undefined;
    };
    return { ...given, tools, middleware: [unmasked, ...others, noting, prepareIteration(prepare)], journal, ...more };
  };
  const { result } = await runPlan(plan, own);
  await Promise.all(told);
  return result;
}

const decisionsOf = ({ reason }: LoopResult): LoopOptions["answers"] =>
  Object.fromEntries(
    (reason.kind === "approval-required" ? reason.calls : []).map(({ id }, index) => [
      id,
      index % 2 === 0 ? { kind: "approve" } : { kind: "modify", args: { edited: true } },
    ]),
  );

/** Removes `maxToolCalls`. While calls are running, the journal does not show that a waiting call would exceed this limit. */
function askable(plan: Plan, asks: boolean): Plan {
  if (!asks && plan.approve !== "ask") return plan;
  return { ...plan, limits: { ...plan.limits, maxToolCalls: undefined }, approve: "ask", eager: false };
}

/** Keeps only the kind of the end reason, because numbers in the reason depend on the limits. */
const numberless = (facts: ReturnType<typeof factsOf>): unknown => ({
  ...facts,
  reason: (facts.reason as { kind: string }).kind,
});

const chains = fc.record({
  first: plans,
  others: fc.array(plans, { maxLength: 3 }),
  nested: fc.boolean(),
  asks: fc.boolean(),
  durable: fc.boolean(),
});

it("inspectJournal agrees with the state and the results of a random run after each execution", async () => {
  await fc.assert(
    fc.asyncProperty(chains, async ({ first, others, nested, asks, durable }) => {
      const plan = askable(first, asks);
      let keeping = durable ? keepDurably() : keepInMemory();
      let now = plan;
      let last: LoopResult | undefined;
      const { maxToolCalls, maxCostUSD } = plan.limits;
      for (const { limits: given, turns, verbs } of [plan, ...others]) {
        const other = { ...plan, turns, verbs, limits: { ...given, maxToolCalls, maxCostUSD, wallClockMs: undefined } };
        const isWaiting = last?.reason.kind === "approval-required";
        now = last === undefined ? plan : isWaiting ? { ...now, turns, verbs: [] } : other;
        const answers = last === undefined ? {} : decisionsOf(last);
        const size = keeping.size();
        last = await play({ plan: now, nested, keeping, more: { resume: "retry-last", answers } });
        const bytes = keeping.text();
        const inspection = await inspectJournal(keeping.open());
        expect(keeping.text()).toBe(bytes);
        // If an execution adds no record, the journal does not show how it ended.
        if (keeping.size() > size) expect(numberless(factsIn(inspection))).toEqual(numberless(factsOf(last)));
        keeping = keeping.copy();
      }
    }),
    { numRuns: 30, seed: 20_260_101 },
  );
});

it("inspectJournal reads a random journal that was truncated after any record, and the journal of the resumed run", async () => {
  await fc.assert(
    fc.asyncProperty(plans, fc.boolean(), async (whatever, nested) => {
      const plan = askable(whatever, false);
      const whole = keepDurably();
      const result = await play({ plan, nested, keeping: whole });
      const records = JSON.parse(whole.text()) as [string, string][];
      let longest = 0;
      for (let count = 0; count <= records.length; count += 1) {
        const part = keepDurably(records.slice(0, count)).open();
        const { status, messages } = await inspectJournal(part);
        if (count === 0) expect(status).toBe("not-started");
        else expect(["running", "suspended", result.status]).toContain(status);
        expect(messages.length).toBeGreaterThanOrEqual(longest === 0 ? 0 : 1);
        longest = Math.max(longest, messages.length);
      }
      const killed = keepDurably(records.slice(0, Math.floor(plan.cutAt * records.length)));
      const size = killed.size();
      const again = await play({ plan: { ...plan, verbs: [] }, nested, keeping: killed });
      if (killed.size() > size) expect(factsIn(await inspectJournal(killed.open()))).toEqual(factsOf(again));
    }),
    { numRuns: 15, seed: 20_260_101 },
  );
});
