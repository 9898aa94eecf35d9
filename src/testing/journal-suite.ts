// Tests journals for any store and workflow engine. Checks in this file run the loop. Those in `journal-steps.ts` call the journal's
// methods.

import {
  approve,
  defineAgentTool,
  defineTool,
  type Journal,
  type Json,
  type LoopOptions,
  type LoopResult,
  type Provider,
  runToolLoop,
  type Tool,
} from "../core/index.ts";
import { toPlainError } from "../shared/plain-error.ts";
import { wrapJournal } from "../core/kit.ts";
import {
  checkBytes,
  checkCutParallel,
  checkFailedStep,
  checkKeys,
  checkLargeResult,
  checkLateStep,
  checkOwner,
  checkParallel,
  checkRead,
  checkReplay,
  executeRun,
  type JournalBench,
  type JournalSuiteSetup,
  pause,
} from "./journal-steps.ts";
import { type MockMessage, text, toolCall } from "./mock-parts.ts";
import { createMockProvider } from "./mock-provider.ts";
import { untilFired } from "./scripted-stream.ts";
import { check, checkSame, checkSetup, duration, type SuiteCheck } from "./suite-check.ts";

/**
 * Returns the checks for a journal: records, parallel steps, reading, locks, crashes at each step, kills, approvals, and two executions
 * at the same time. The suite registers no tests on its own: loop over the checks with any test runner.
 *
 * @example
 * const execute = (runId, body) => body(fileJournal(join(folder, `${runId}.jsonl`)));
 * for (const { title, run } of journalSuite({ execute })) it(title, run);
 */
export function journalSuite(setup: JournalSuiteSetup): readonly SuiteCheck[] {
  checkSetup(setup, "execute", { pauseMs: duration });
  return checks.map(([title, run]) => ({ title, run: () => runJournalCheck(setup, run) }));
}

const checks: readonly (readonly [title: string, run: (bench: JournalBench) => Promise<void>])[] = [
  ["returns the recorded result of a step instead of running the step again", checkReplay],
  ["runs parallel steps at the same time", checkParallel],
  ["keeps the finished ones of parallel steps that a crash interrupts", checkCutParallel],
  ["returns each recorded result byte for byte", checkBytes],
  ["keeps a result of 4 MB", checkLargeResult],
  ["keeps the records of similar keys and of different runs apart", checkKeys],
  ["runs a step again in a later execution if the step failed", checkFailedStep],
  ["returns the recorded results, and only these, from read()", checkRead],
  ["refuses a second call of the optional method open() while the journal is open", checkOwner],
  ["keeps the record of a new owner if the old owner finishes the same step later", checkLateStep],
  ["runs each call once if two executions of a run overlap", checkTwoExecutions],
  ["gives a run the same result after crashes at many steps", checkEveryCut],
  ["does not run a killed call again", checkKilledCall],
  ["runs an approved call exactly once", checkWaitingCall],
];

async function runJournalCheck(setup: JournalSuiteSetup, run: (bench: JournalBench) => Promise<void>): Promise<void> {
  const abort = new AbortController();
  try {
    await run({ setup, runId: `suite-${globalThis.crypto.randomUUID()}`, signal: abort.signal });
  } finally {
    abort.abort(new DOMException("The check is over.", "AbortError"));
  }
}

class Tally {
  readonly counts: { [name: string]: number } = {};

  note(name: string): number {
    return (this.counts[name] = (this.counts[name] ?? 0) + 1);
  }
}

/** Plays the message for the requested iteration, so that a resumed run gets the same message again. */
function playing(name: string, messages: readonly MockMessage[], tally: Tally): Provider {
  return createMockProvider((request) => {
    tally.note(`${name} ${request.iteration}`);
    return messages[request.iteration];
  });
}

function noting(name: string, tally: Tally): Tool {
  const execute = ({ n }: { readonly n: number }): Json => ({ name, n, count: tally.note(`${name} ${n}`) });
  // With `replay: "safe"`, a resumed run repeats an interrupted call. Otherwise, the run's result would depend on where it was interrupted.
  return defineTool<{ readonly n: number }>({
    name,
    description: name,
    inputSchema: { type: "object" },
    replay: "safe",
    execute,
  });
}

/** Returns the options for a run with parallel calls, an approval and a nested run. */
function scenarioOf(runId: string, tally: Tally): Omit<LoopOptions, "journal"> {
  const search = noting("search", tally);
  const inner = playing("inner", [[toolCall("search", { n: 3 })], [text("Found.")]], tally);
  const research = defineAgentTool({
    name: "research",
    description: "Looks something up",
    inputSchema: { type: "object" },
    prepare: () => ({ provider: inner, tools: [search], messages: [{ role: "user", content: "Look it up." }] }),
  });
  const calls = [
    toolCall("search", { n: 1 }),
    toolCall("search", { n: 2 }),
    toolCall("research", {}),
    toolCall("book", { n: 4 }),
  ];
  return {
    runId,
    provider: playing("model", [[text("I look."), ...calls], [toolCall("search", { n: 5 })], [text("Done.")]], tally),
    tools: [search, research, noting("book", tally)],
    messages: [{ role: "user", content: "Find it and book it." }],
    middleware: [approve(() => ({ kind: "approve" }))],
  };
}

class Cut extends Error {}

/** Simulates a crash after `left` new steps: every later step fails once the earlier ones are recorded. */
function cutAfter(journal: Journal, left: number): Journal {
  let rest = left;
  const begun: unknown[] = [];
  return {
    ...wrapJournal(journal),
    async step(key, body) {
      if (rest <= 0) {
        await Promise.allSettled(begun);
        throw new Cut("The execution was cut off.");
      }
      rest -= 1;
      const step = journal.step(key, body);
      begun.push(step);
      return step;
    },
  };
}

function runCut(bench: JournalBench, options: Omit<LoopOptions, "journal">, left: number): Promise<LoopResult | undefined> {
  return executeRun(bench, async (journal) => {
    try {
      return await runToolLoop({ ...options, journal: cutAfter(journal, left) });
    } catch (error) {
      if (error instanceof Cut) return undefined;
      throw error;
    }
  });
}

/** Returns a result without the fields that depend on the time or the run id. */
function factsOf({ status, reason, text: answer, messages, usage, iterations, toolCallsExecuted }: LoopResult): unknown {
  return { status, reason, answer, messages, usage, iterations, toolCallsExecuted };
}

async function checkEveryCut(bench: JournalBench): Promise<void> {
  const whole = await runCut(bench, scenarioOf(bench.runId, new Tally()), Number.POSITIVE_INFINITY);
  check(whole !== undefined, "The uninterrupted run must end.");
  // Cuts the journal only after every third step, because each cut replays the run twice.
  for (let left = 1; ; left += 3) {
    const one = { ...bench, runId: `${bench.runId}-${left}` };
    const tally = new Tally();
    const first = await runCut(one, scenarioOf(one.runId, tally), left);
    const result = await runCut(one, scenarioOf(one.runId, tally), Number.POSITIVE_INFINITY);
    check(result !== undefined, "The later execution must end.");
    checkSame(factsOf(result), factsOf(whole), `The result of a run that was cut off after ${left} steps`);
    const repeated = Object.entries(tally.counts).filter(([, count]) => count > 1);
    check(
      repeated.length === 0,
      `A run that was cut off after ${left} steps repeated ${repeated.map(([name]) => `"${name}"`).join(", ")}.`,
    );
    if (first !== undefined) return;
  }
}

async function checkTwoExecutions(bench: JournalBench): Promise<void> {
  const tally = new Tally();
  const run = (): Promise<LoopResult> => {
    const hold = defineTool({
      name: "hold",
      description: "Takes some time",
      inputSchema: { type: "object" },
      execute: async () => {
        tally.note("hold");
        await pause(bench);
        return "held";
      },
    });
    const provider = playing("model", [[toolCall("hold", {})], [text("Done.")]], new Tally());
    const options: LoopOptions = { runId: bench.runId, provider, tools: [hold], messages: [{ role: "user", content: "Hold." }] };
    return executeRun(bench, (journal) => runToolLoop({ ...options, journal }));
  };
  const ends = await Promise.allSettled([run(), run()]);
  const statuses = ends.map((end) => (end.status === "fulfilled" ? end.value.status : toPlainError(end.reason).message));
  check(statuses.includes("completed"), `One of two executions must complete, but they ended as ${statuses.join(" / ")}`);
  checkSame(tally.counts, { hold: 1 }, "The number of times the tool ran in two executions");
  checkSame((await run()).status, "completed", "The status of the later execution");
  checkSame(tally.counts, { hold: 1 }, "The number of times the tool ran in all executions");
}

async function checkKilledCall(bench: JournalBench): Promise<void> {
  const tally = new Tally();
  const abort = new AbortController();
  const work = defineTool({
    name: "work",
    description: "Works until it is cancelled",
    inputSchema: { type: "object" },
    execute: async (_, { signal }) => {
      tally.note("work");
      void pause(bench).then(() => abort.abort(new DOMException("Enough.", "AbortError")));
      await untilFired(signal);
    },
  });
  const provider = playing("model", [[toolCall("work", {})], [text("Done.")]], new Tally());
  const options: LoopOptions = { runId: bench.runId, provider, tools: [work], messages: [{ role: "user", content: "Work." }] };
  const killed = await executeRun(bench, (journal) => runToolLoop({ ...options, journal, signal: abort.signal }));
  checkSame(killed.reason.kind, "aborted", "The reason of the killed run");
  const later = await executeRun(bench, (journal) => runToolLoop({ ...options, journal }));
  checkSame(tally.counts, { work: 1 }, "The number of times the killed call ran");
  checkSame(later.reason, killed.reason, "The reason of the later execution");
}

async function checkWaitingCall(bench: JournalBench): Promise<void> {
  const tally = new Tally();
  const provider = playing("model", [[toolCall("book", { n: 1 })], [text("Done.")]], new Tally());
  const options: LoopOptions = {
    runId: bench.runId,
    provider,
    tools: [noting("book", tally)],
    messages: [{ role: "user", content: "Book it." }],
    middleware: [approve(() => ({ kind: "ask" }))],
  };
  const first = await executeRun(bench, (journal) => runToolLoop({ ...options, journal }));
  checkSame(tally.counts, {}, "The number of times the call ran before its approval");
  const id = first.reason.kind === "approval-required" ? first.reason.calls[0]?.id : undefined;
  check(id !== undefined, `The run must wait for a decision, but it ended as ${first.status}.`);
  const answers = { [id]: { kind: "approve" as const } };
  const last = await executeRun(bench, (journal) => runToolLoop({ ...options, journal, answers }));
  checkSame(last.status, "completed", "The status of the run after the decision");
  checkSame(tally.counts, { "book 1": 1 }, "The number of times the approved call ran");
}
