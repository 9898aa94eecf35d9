import { expect, it } from "vitest";
import { approve, type LoopOptions, type LoopResult, type Tool, toolResult, type ToolResultPart, eagerTools } from "turnwright";
import { type MockPart, text, toolCall } from "turnwright/testing";
import { bytesOf, endOf } from "./hostile-model.ts";
import { answersOf, play, tool } from "./play.ts";
import { savedOf } from "./run-plan.ts";

type Outcome = ToolResultPart["outcome"];

interface Row {
  readonly call: (index: number) => MockPart;
  readonly options?: Partial<LoopOptions>;
  readonly outcomes: (count: number) => Partial<Record<Outcome, number>>;
  readonly ends: string;
  readonly streams: number;
  readonly peak: number;
}

const all =
  (outcome: Outcome): Row["outcomes"] =>
  (count) => ({ [outcome]: count });
const answered = { ends: "answered", streams: 2 };

const rows: Readonly<Record<string, Row>> = {
  "of a synchronous tool": { call: (n) => toolCall("quick", { n }), outcomes: all("completed"), ...answered, peak: 1 },
  "of a slow tool": { call: (n) => toolCall("slow", { n }), outcomes: all("completed"), ...answered, peak: 10 },
  "of a sequential tool": { call: (n) => toolCall("alone", { n }), outcomes: all("completed"), ...answered, peak: 1 },
  "of an eager tool": { call: (n) => toolCall("early", { n }), outcomes: all("completed"), ...answered, peak: 10 },
  "with the same id": { call: (n) => toolCall("quick", { n }, { id: "same" }), outcomes: all("completed"), ...answered, peak: 1 },
  "that are approved": {
    call: (n) => toolCall("quick", { n }),
    options: { middleware: [approve(async () => ({ kind: "approve" }))] },
    outcomes: all("completed"),
    ...answered,
    peak: 1,
  },
  "that are denied": {
    call: (n) => toolCall("quick", { n }),
    options: { middleware: [approve(async () => ({ kind: "deny" }))] },
    outcomes: all("denied"),
    ...answered,
    peak: 0,
  },
  "beyond limits.maxToolCalls": {
    call: (n) => toolCall("slow", { n }),
    options: { limits: { maxToolCalls: 25 } },
    outcomes: (count) => ({ completed: 25, limit: count - 25 }),
    ...answered,
    peak: 10,
  },
  "of which one ends the run": {
    call: (n) => toolCall(n === 3 ? "over" : "quick", { n }),
    outcomes: all("completed"),
    ends: "end-turn",
    streams: 1,
    peak: 1,
  },
  "of misspelled tool names": { call: () => toolCall("qiuck"), outcomes: all("unknown-tool"), ...answered, peak: 0 },
  "with broken arguments": {
    call: () => toolCall("quick", {}, { rawArgs: "{" }),
    outcomes: all("malformed"),
    ...answered,
    peak: 0,
  },
};

const sizes: readonly (readonly [count: number, what: string])[] = [
  ...Object.keys(rows).map((what) => [300, what] as const),
  [3_000, "of an eager tool"],
  [3_000, "that are approved"],
];

interface Tally {
  ran: number;
  running: number;
  peak: number;
}

function toolsOf(tally: Tally): readonly Tool[] {
  const begin = (): void => {
    tally.ran += 1;
    tally.running += 1;
    tally.peak = Math.max(tally.peak, tally.running);
  };
  const quick = (): number => (begin(), (tally.running -= 1));
  const slow = async (): Promise<void> => {
    begin();
    for (let tick = 0; tick < 120; tick += 1) await Promise.resolve();
    tally.running -= 1;
  };
  return [
    tool("quick", quick),
    tool("slow", slow),
    tool("alone", slow, { sequential: true }),
    tool("early", slow, { eager: true }),
    tool("over", () => (quick(), toolResult({ data: "bye", endTurn: true }))),
  ];
}

function countOutcomes(result: LoopResult): Partial<Record<Outcome, number>> {
  const outcomes: Partial<Record<Outcome, number>> = {};
  for (const { outcome } of answersOf(result)) outcomes[outcome] = (outcomes[outcome] ?? 0) + 1;
  return outcomes;
}

it.for(sizes)("a hostile model: %i calls %s get one result each, at linear cost", { timeout: 60_000 }, async ([count, what]) => {
  const row = rows[what];
  if (row === undefined) throw new Error("No such row.");
  const tally: Tally = { ran: 0, running: 0, peak: 0 };
  const calls = Array.from({ length: count }, (_, index) => row.call(index));
  let timers = 0;
  const playing = play([calls, text("Done.")], ({ clock }) => ({
    tools: toolsOf(tally),
    clock: { ...clock, setTimeout: (fn, ms) => ((timers += 1), clock.setTimeout(fn, ms)) },
    ...row.options,
    middleware: [eagerTools(), ...(row.options?.middleware ?? [])],
  }));
  const result = await playing.result;
  expect(timers).toBeLessThanOrEqual(10 + count);
  expect(Object.keys(savedOf(result).steps).length).toBeLessThanOrEqual(10 + 2 * count);
  expect(playing.recording.events.length).toBeLessThanOrEqual(10 + 6 * count);
  expect(bytesOf(result.messages)).toBeLessThanOrEqual(1_000 + 500 * count);

  await endOf(playing);
  const outcomes = row.outcomes(count);
  const { ran, peak } = tally;
  expect({ ...row, streams: playing.provider.calls, ends: result.reason.kind, peak }).toEqual(row);
  expect([countOutcomes(result), ran, playing.endedAt()]).toEqual([outcomes, outcomes.completed ?? 0, 0]);
  // Redacting the quoted message of a parser is expensive, so only the first few results quote one.
  const explained = answersOf(result).filter(
    (answer) => answer.outcome === "malformed" && !JSON.stringify(answer.result).includes("the arguments are not valid JSON"),
  );
  expect(explained.length).toBe(what === "with broken arguments" ? 16 : 0);
  // Finding a similar tool name is expensive, so only the first few results suggest one.
  const hints = answersOf(result).filter((answer) => JSON.stringify(answer.result).includes("Did you mean"));
  expect(hints.length).toBe(what === "of misspelled tool names" ? 16 : 0);
});
