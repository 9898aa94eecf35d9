// Replays a run from its own records, and names the code that took different steps than before.

import { type Journal, type LoopResult, memoryJournal, type SavedJournal } from "../core/index.ts";

/**
 * Calls `run` twice: with an empty journal, and with a journal that contains the first run's records. Throws an Error if the second run
 * takes different steps, does anything new, or ends differently. The message names the middleware or the tool. This finds nondeterministic
 * code, such as code that reads a clock, random numbers, a file or a program variable outside `step`.
 *
 * `run` returns the result of a run with the `journal` and a `runId`. If calls are waiting, `run` answers them before it returns. Returns
 * the result of the first run.
 *
 * @example
 * await expectReplays((journal) => {
 *   const provider = createMockProvider([toolCall("search"), text("Found.")]);
 *   return runToolLoop({ provider, tools, messages, middleware: [quota()], journal, runId: "test" });
 * });
 */
export async function expectReplays<Result extends LoopResult>(run: (journal: Journal) => Promise<Result>): Promise<Result> {
  const journal = memoryJournal();
  const first = await run({ ...journal, durable: true });
  // Copies the records through JSON, as if another process had read them.
  const records = JSON.parse(JSON.stringify(journal)) as SavedJournal;
  const keys = journal.keys();
  if (keys.length === 0) throw new Error("The run recorded nothing. Pass `journal` to the run.");
  const asked = new Set<string>();
  const added: string[] = [];
  const second = await run(replayOf(records, { asked, added })).catch((error: unknown) => {
    if (added.length === 0) throw error;
  });
  // If the second run failed, ignores the steps that it did not reach, because they prove nothing.
  const left = second === undefined ? [] : keys.filter((key) => !asked.has(key) && !isAbandoned(key, keys));
  const problems = [...describeSteps(added, left), ...(second === undefined ? [] : compareResults(first, second))];
  if (problems.length === 0) return first;
  throw new Error(`A second execution with the same records differs from the first.\n${problems.join("\n")}\n${advice}`);
}

const advice =
  "Code outside steps runs again when a run resumes. Read clocks, random numbers and other external values inside `step`, " +
  "and give parallel steps different names.";

interface Seen {
  readonly asked: Set<string>;
  readonly added: string[];
}

function replayOf(records: SavedJournal, { asked, added }: Seen): Journal {
  const recorded = memoryJournal(records);
  const read = (key: string): unknown => {
    asked.add(key);
    return recorded.read(key);
  };
  return {
    durable: true,
    read,
    async step<T>(key: string): Promise<T> {
      const found = read(key);
      if (found !== undefined) return found as T;
      added.push(key);
      throw new Error(`The step "${key}" is not recorded.`);
    },
  };
}

/** Splits the key of a middleware's or durable tool's step into its place, its owner and its name. */
const stepPattern = /^(.*)\/(@[^/]+|tool)\/(.*)$/;

/** True for a step of an inner call or nested run that a durable tool may have abandoned before it ended, such as the loser of a race. */
function isAbandoned(key: string, keys: readonly string[]): boolean {
  // Matches a question asked by an inner call or a nested run, because only these have paths as ids.
  if (/^wait\/[^/]+\/.+\/\d+\/(asked|answer)$/.test(key)) return true;
  return [...key.matchAll(/\/tool\/(?:call|run)(?=\/)/g)].some(({ index }) => keys.includes(`${key.slice(0, index)}/outcome`));
}

/** Returns one line for each owner whose steps were added or left out. */
function describeSteps(added: readonly string[], left: readonly string[]): readonly string[] {
  const lines = new Map<string, string[]>();
  const note = (key: string, what: string): void => {
    const [, place = key, owner = "", name = ""] = stepPattern.exec(key) ?? [];
    const who = owner === "" ? "The loop" : owner === "tool" ? "The tool" : `The middleware "${owner.slice(1)}"`;
    const line = `- ${who} at ${place}`;
    lines.set(line, [...(lines.get(line) ?? []), name === "" ? what : `${what} "${name}"`]);
  };
  for (const key of added) note(key, "takes the new step");
  for (const key of left) note(key, "leaves out the step");
  return [...lines].map(([line, said]) => `${line} ${said.join(", ")}.`);
}

function compareResults(first: LoopResult, second: LoopResult): readonly string[] {
  if (first.reason.kind !== second.reason.kind)
    return [`- The run ended as "${first.reason.kind}", and then as "${second.reason.kind}".`];
  const [before, after] = [first, second].map(({ messages }) => messages.map((message) => JSON.stringify(message)));
  const index = before?.findIndex((message, at) => message !== after?.[at]) ?? -1;
  return index === -1 ? [] : [`- Message ${index} of the result was ${before?.[index]}, and then ${after?.[index]}.`];
}
