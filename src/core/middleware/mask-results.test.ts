import fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { Message, ToolResultPart } from "../types/message.ts";
import type { ContextRelease, ToolHistoryEntry, ToolOutcome } from "../types/tool-outcome.ts";
import { MaskedTranscript, type MaskingSource, type ReleasedResults } from "./masked-transcript.ts";

type MaskingRules = Record<"keepIterations" | "minTokens" | "batchOf", number>;

const createView = (rules: MaskingRules): MaskedTranscript => new MaskedTranscript(rules);

interface Call {
  readonly outcome: ToolOutcome["kind"];
  readonly tokens: number;
}

interface Iteration {
  readonly calls: readonly Call[];
  readonly force: readonly number[];
  readonly release: readonly number[] | "all" | undefined;
}

/** A transcript that grows like a run's transcript. `looks` counts how many times a message was read. */
class GrowingState implements MaskingSource {
  readonly messages: Message[] = [];
  readonly functionHistory: ToolHistoryEntry[] = [];
  readonly forcedIterations: number[] = [];
  readonly releases: ReleasedResults[] = [];
  iteration = 0;
  iterationStart = 0;
  looks = 0;
  readonly ids: string[] = [];

  constructor() {
    const old: ToolResultPart = { callId: "old", name: "search", outcome: "completed", result: "x".repeat(40_000) };
    this.messages.push({ role: "user", content: "Go." }, assistant(["old"]), { role: "tool", results: [old] });
    this.iterationStart = this.messages.length;
  }

  add({ calls, force, release }: Iteration): void {
    const results = calls.map(({ outcome, tokens }, index): ToolResultPart => {
      const callId = `c${this.iteration}_${index}`;
      const result = "x".repeat(tokens * 4);
      this.ids.push(callId);
      this.functionHistory.push({
        functionCall: { id: callId, name: "search", args: {} },
        functionResponse: { name: "search", response: { result } },
        outcome,
        iteration: this.iteration,
        durationMs: 0,
      });
      return { callId, name: "search", outcome, result };
    });
    if (results.length > 0)
      this.messages.push(assistant(results.map(({ callId }) => callId)), this.#watch({ role: "tool", results }));
    if (release !== undefined) this.releases.push({ iteration: this.iteration, release: this.#toRelease(release) });
    this.forcedIterations.push(...force.filter((each) => each <= this.iteration));
    this.iteration += 1;
    this.iterationStart = this.messages.length;
  }

  #toRelease(release: readonly number[] | "all"): ContextRelease {
    return release === "all" ? release : release.flatMap((at) => this.ids[at % Math.max(1, this.ids.length)] ?? []);
  }

  #watch(message: Extract<Message, { role: "tool" }>): Message {
    const look = (): readonly ToolResultPart[] => {
      this.looks += 1;
      return message.results;
    };
    return {
      role: "tool",
      get results() {
        return look();
      },
    };
  }
}

function assistant(ids: readonly string[]): Message {
  return { role: "assistant", content: ids.map((callId) => ({ type: "tool-call", callId, name: "search", args: {} })) };
}

function expectedMasks(
  iterations: readonly Iteration[],
  state: GrowingState,
  { keepIterations, minTokens, batchOf }: MaskingRules,
): Set<string> {
  const masked = new Set<string>();
  const forced = new Set(state.forcedIterations);
  const now = iterations.length;
  const cutoff = Math.floor((now - keepIterations) / batchOf) * batchOf;
  iterations.forEach(({ calls }, each) => {
    calls.forEach(({ outcome, tokens }, index) => {
      const callId = `c${each}_${index}`;
      const released = state.releases.some(({ iteration, release }) =>
        release === "all" ? each < iteration : release.includes(callId),
      );
      const isDue = each < cutoff || forced.has(each) || released;
      if (isDue && outcome === "completed" && tokens >= minTokens) masked.add(callId);
    });
  });
  return masked;
}

const idsOf = (messages: readonly Message[]): readonly unknown[] =>
  messages.map((message) => [message.role, message.role === "tool" ? message.results.map(({ callId }) => callId) : []]);

const maskedIn = (messages: readonly Message[]): readonly string[] =>
  messages.flatMap((message) =>
    message.role === "tool"
      ? message.results.filter(({ result }) => JSON.stringify(result).startsWith('"[Result')).map(({ callId }) => callId)
      : [],
  );

const calls = fc.array(
  fc.record({
    outcome: fc.constantFrom(
      "completed" as const,
      "completed" as const,
      "failed" as const,
      "denied" as const,
      "timed-out" as const,
    ),
    tokens: fc.constantFrom(1, 9, 10, 11, 40),
  }),
  { maxLength: 4 },
);
const iterations = fc.array(
  fc.record({
    calls,
    force: fc.array(fc.nat(12), { maxLength: 2 }),
    release: fc.option(fc.oneof(fc.constant("all" as const), fc.array(fc.nat(30), { maxLength: 3 })), {
      nil: undefined,
      freq: 3,
    }),
  }),
  { maxLength: 14 },
);
const rules = fc.record({
  keepIterations: fc.constantFrom(0, 1, 2, 5, Number.POSITIVE_INFINITY),
  minTokens: fc.constantFrom(0, 10, 11),
  batchOf: fc.integer({ min: 1, max: 4 }),
});

describe("maskResults in random runs", () => {
  it("masks exactly the results that are old, listed in the `force` option, or released by a tool", () => {
    fc.assert(
      fc.property(iterations, rules, (played, rule) => {
        const state = new GrowingState();
        const view = createView(rule);
        const told = new Set<string>();
        const seen = new Map<number, { readonly message: Message; readonly masks: number }>();
        for (let each = 0; each <= played.length; each += 1) {
          const before = JSON.stringify(state.messages);
          for (const callId of view.update(state)?.calls ?? []) {
            expect(told.has(callId)).toBe(false);
            told.add(callId);
          }
          expect(told).toEqual(expectedMasks(played.slice(0, each), state, rule));
          expect(new Set(maskedIn(view.messages))).toEqual(told);
          expect(idsOf(view.messages)).toEqual(idsOf(state.messages));
          expect(JSON.stringify(state.messages)).toBe(before);
          const first = [...view.messages];
          expect(view.update(state)).toBeUndefined();
          view.messages.forEach((message, at) => {
            expect(message).toBe(first[at]);
            const masks = maskedIn([message]).length;
            if (masks === 0) expect(message).toBe(state.messages[at]);
            if (masks === seen.get(at)?.masks) expect(message).toBe(seen.get(at)?.message);
            seen.set(at, { message, masks });
          });
          const next = played[each];
          if (next !== undefined) state.add(next);
        }
      }),
      { numRuns: 120 },
    );
  });
});

it.for<[title: string, batchOf: number, force: boolean]>([
  ["batchOf is 1", 1, false],
  ["batchOf is 5", 5, false],
  ["all iterations are forced", 1, true],
])("maskResults: reads each message the same number of times in short and long runs if %s", ([, batchOf, force]) => {
  const looksIn = (count: number): number => {
    const state = new GrowingState();
    const view = createView({ keepIterations: force ? Number.POSITIVE_INFINITY : 2, minTokens: 10, batchOf });
    for (let each = 0; each < count; each += 1) {
      view.update(state);
      view.findForced(new Set());
      state.add({ calls: [{ outcome: "completed", tokens: 20 }], force: force ? [each] : [], release: undefined });
    }
    return state.looks;
  };
  expect(looksIn(2_000) - looksIn(1_000)).toBeLessThanOrEqual(1_000 * 4);
  expect(looksIn(2_000) - looksIn(1_000)).toBe(looksIn(3_000) - looksIn(2_000));
});

it("maskResults: updates the requests if an assistant message is replaced or removed", () => {
  const state = new GrowingState();
  const view = createView({ keepIterations: 0, minTokens: 0, batchOf: 1 });
  view.update(state);
  const paused: Message = { role: "assistant", content: [{ type: "text", text: "So" }] };
  state.messages.push(paused);
  view.update(state);
  expect(view.messages.at(-1)).toBe(paused);
  const whole: Message = { role: "assistant", content: [{ type: "text", text: "So far." }] };
  state.messages[state.messages.length - 1] = whole;
  view.update(state);
  expect([view.messages.at(-1), view.messages.length]).toEqual([whole, 4]);
  state.messages.pop();
  view.update(state);
  expect(view.messages).toEqual(state.messages);
});

it("maskResults: counts the tokens of content parts and masks these parts", () => {
  const state = new GrowingState();
  const view = createView({ keepIterations: 0, minTokens: 20, batchOf: 1 });
  view.update(state);
  state.add({ calls: [{ outcome: "completed", tokens: 1 }], force: [], release: undefined });
  const content = [
    { type: "text" as const, text: "y".repeat(40) },
    { type: "image" as const, mediaType: "image/png", data: "https://example.com/a.png" },
  ];
  state.messages[state.messages.length - 1] = {
    role: "tool",
    results: [{ callId: "c0_0", name: "look", outcome: "completed", result: { a: 1 }, content }],
  };
  expect(view.update(state)).toEqual({ calls: ["c0_0"], tokensBefore: 1_612, tokensAfter: 18 });
  const result = "[Result of look (call c0_0) from iteration 0 left out: 1,612 tokens.]";
  expect(view.messages.at(-1)).toEqual({
    role: "tool",
    results: [{ callId: "c0_0", name: "look", outcome: "completed", result }],
  });
});

it.for<[tokens: number, told: string]>([
  [999, "999"],
  [1_240, "1,240"],
  [1_234_567, "1,234,567"],
])("maskResults: the note for a result of %d tokens contains the tool, the iteration and the size", ([tokens, told]) => {
  const state = new GrowingState();
  const view = createView({ keepIterations: 0, minTokens: 1, batchOf: 1 });
  view.update(state);
  state.add({ calls: [{ outcome: "completed", tokens }], force: [], release: undefined });
  view.update(state);
  expect(JSON.stringify(view.messages.at(-1))).toContain(
    `[Result of search (call c0_0) from iteration 0 left out: ${told} tokens.]`,
  );
});

it("maskResults: findForced() returns only the last iteration and iterations that can still be masked", () => {
  const state = new GrowingState();
  const view = createView({ keepIterations: 2, minTokens: 10, batchOf: 1 });
  const any = new Set([0, 1, 2, 3, 4, 5, 6]);
  const asked: (readonly number[])[] = [];
  for (let each = 0; each < 5; each += 1) {
    asked.push(view.findForced(any));
    view.update(state);
    state.add({ calls: [{ outcome: "completed", tokens: each === 1 ? 1 : 20 }], force: [], release: undefined });
  }
  expect(view.findForced(new Set([2, 9]))).toEqual([2]);
  expect(asked).toEqual([[], [0], [0, 1], [0, 2], [2, 3]]);
});
