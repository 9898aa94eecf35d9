// The journal suite's checks that call the journal's methods directly.

import type { Journal, Json } from "../core/index.ts";
import { systemClock } from "../shared/signals.ts";
import { toPlainError } from "../shared/plain-error.ts";
import { check, type Patience, within } from "./suite-check.ts";
import { untilFired } from "./scripted-stream.ts";

/** Connects `journalSuite` to the journal to test. */
export interface JournalSuiteSetup extends Patience {
  /**
   * Calls `body` with the journal of the run `runId`, and returns its result. The suite calls this function again with the same `runId` for
   * a later execution. The journal must then contain all earlier records. Two executions may overlap. In a workflow engine, call `body`
   * inside the workflow `runId`. Do not open the journal, because `body` opens it. `runId` has at most 60 letters, digits and hyphens, and
   * is new for each check.
   */
  execute<T>(runId: string, body: (journal: Journal) => Promise<T>): PromiseLike<T>;
  /** How long the journal may take to record a step in the background, in milliseconds. Default 20. */
  readonly pauseMs?: number | undefined;
}

/** The arguments of each check. `signal` fires when the check is over. */
export interface JournalBench {
  readonly setup: JournalSuiteSetup;
  readonly runId: string;
  readonly signal: AbortSignal;
}

export function executeRun<T>({ setup, runId }: JournalBench, body: (journal: Journal) => Promise<T>): Promise<T> {
  return within(Promise.resolve(setup.execute(runId, body)), "The execution did not end", setup);
}

function executeOpen<T>(bench: JournalBench, body: (journal: Journal) => Promise<T>): Promise<T> {
  return executeRun(bench, async (journal) => {
    const close = await journal.open?.();
    try {
      return await body(journal);
    } finally {
      await close?.();
      // Closes a second time, to check that this has no effect.
      await close?.();
    }
  });
}

/** Waits while a journal may still be recording steps in the background. */
export function pause({ setup: { clock = systemClock, pauseMs = 20 } }: JournalBench): Promise<void> {
  return new Promise((resolve) => void clock.setTimeout(resolve, pauseMs));
}

/** Reads a step that must already be recorded. Fails if its body runs. */
async function recall(journal: Journal, key: string): Promise<unknown> {
  return journal.step<unknown>(key, () => {
    throw new Error(`The step "${key}" is recorded, but it ran again.`);
  });
}

function checkJson(actual: unknown, expected: unknown, what: string): void {
  const [is, must] = [JSON.stringify(actual), JSON.stringify(expected)];
  check(is === must, `${what} must be ${shorten(must)}, but is ${shorten(is)}.`);
}

function shorten(text: string | undefined): string {
  return text === undefined || text.length <= 200 ? String(text) : `${text.slice(0, 200)}… (${text.length} characters)`;
}

export async function checkReplay(bench: JournalBench): Promise<void> {
  const first = await executeOpen(bench, async (journal) => journal.step("step 1", () => ({ text: "Hello." })));
  checkJson(first, { text: "Hello." }, "The result of a new step");
  const again = await executeOpen(bench, async (journal) => recall(journal, "step 1"));
  checkJson(again, { text: "Hello." }, "The result of a recorded step");
}

export async function checkParallel(bench: JournalBench): Promise<void> {
  const keys = ["step 1", "step 2", "step 3"];
  const release: (() => void)[] = [];
  const turns = keys.map((_, position) => new Promise<void>((resolve) => (release[position] = resolve)));
  let begun = 0;
  // All steps wait until every step has begun, then finish in reverse order. So a journal that runs steps one at a time never finishes, and
  // reaches the time limit.
  const bodyOf = (position: number) => async (): Promise<Json> => {
    begun += 1;
    if (begun === keys.length) release.at(-1)?.();
    await within(turns[position] ?? Promise.resolve(), "Parallel steps did not run at the same time", bench.setup);
    release[position - 1]?.();
    return { position };
  };
  const expected = keys.map((_, position) => ({ position }));
  const results = await executeOpen(bench, (journal) =>
    Promise.all(keys.map(async (key, position) => journal.step(key, bodyOf(position)))),
  );
  checkJson(results, expected, "The results of parallel steps");
  const again = await executeOpen(bench, (journal) => Promise.all(keys.map((key) => recall(journal, key))));
  checkJson(again, expected, "The recorded results of parallel steps");
}

export async function checkCutParallel(bench: JournalBench): Promise<void> {
  const [fast, slow] = ["step fast", "step hanging"];
  await executeOpen(bench, async (journal) => {
    const never = (): Promise<Json> => untilFired(bench.signal).then(() => ({ text: "too late" }));
    const steps = [journal.step(fast, () => ({ text: "first" })), journal.step(slow, never)];
    for (const step of steps) Promise.resolve(step).catch(() => {});
    await pause(bench);
  });
  const results = await executeOpen(bench, (journal) =>
    Promise.all([recall(journal, fast), journal.step(slow, () => ({ text: "second" }))]),
  );
  checkJson(results, [{ text: "first" }, { text: "second" }], "The results of parallel steps that a crash interrupted");
}

const awkward: Json = {
  z: [0.1, -1e-7, 1e21, Number.MAX_SAFE_INTEGER, true, null, "", {}, []],
  b: 'A "quote", a \\, a tab\t, a null \u0000, a lone surrogate \ud800, 日本語 and 👩‍🚀',
  a: { y: 1, x: { 10: "ten", 9: "nine" } },
  ...JSON.parse('{"__proto__":{"admin":true},"constructor":"c"}'),
};

export async function checkBytes(bench: JournalBench): Promise<void> {
  const plain: readonly Json[] = [awkward, null, false, 0, "", [], [[awkward]]];
  const values = [awkward, {}, ...plain.map((value) => ({ value }))];
  const body = async (journal: Journal, isNew: boolean): Promise<void> => {
    for (const [index, value] of values.entries()) {
      const key = `step ${index}`;
      const result = await (isNew ? journal.step(key, () => value) : recall(journal, key));
      checkJson(result, value, `The ${isNew ? "" : "recorded "}result of "${key}"`);
    }
  };
  await executeOpen(bench, (journal) => body(journal, true));
  await executeOpen(bench, (journal) => body(journal, false));
}

export async function checkLargeResult(bench: JournalBench): Promise<void> {
  const large = { text: "größer ".repeat(600_000) };
  await executeOpen(bench, async (journal) => journal.step("step 1", () => large));
  const again = await executeOpen(bench, async (journal) => recall(journal, "step 1"));
  checkJson(again, large, "The recorded result of 4 MB");
}

export async function checkKeys(bench: JournalBench): Promise<void> {
  const long = `step/${"nested/".repeat(60)}`;
  const keys = [
    "a",
    "A",
    "a ",
    "a/b",
    "a%2Fb",
    "a_b",
    "a%",
    "é",
    "e\u0301",
    'a"\\b',
    "\u0000",
    "\ud800",
    "\ud801",
    "__proto__",
    "constructor",
    long,
    `${long}x`,
  ];
  const write = (other: JournalBench): Promise<void> =>
    executeOpen(other, async (journal) => {
      for (const key of keys) await journal.step(key, () => ({ text: `${other.runId} ${key}` }));
    });
  const second = { ...bench, runId: `${bench.runId}-2` };
  await write(bench);
  await write(second);
  for (const one of [bench, second])
    await executeOpen(one, async (journal) => {
      for (const key of keys)
        checkJson(await recall(journal, key), { text: `${one.runId} ${key}` }, `The record of ${JSON.stringify(key)}`);
    });
}

export async function checkFailedStep(bench: JournalBench): Promise<void> {
  const failing = (): Promise<Json> => Promise.reject(new RangeError("out of range"));
  const failure = await executeOpen(bench, async (journal) => {
    try {
      return { value: await journal.step("step 1", failing) };
    } catch (error) {
      return { error: toPlainError(error) };
    }
  });
  check("error" in failure, "The step failed, but the journal returned a result.");
  checkJson(failure.error.message, "out of range", "The message of the error");
  const again = await executeOpen(bench, async (journal) => journal.step("step 1", () => ({ text: "Hello." })));
  checkJson(again, { text: "Hello." }, "The result in the later execution");
}

export async function checkRead(bench: JournalBench): Promise<void> {
  const keys = ["run", "step 1", "step 2"];
  const checkAll = async (journal: Journal): Promise<void> => {
    for (const key of keys) checkJson(await journal.read(key), { key }, `read("${key}")`);
    for (const key of ["step 3", "step %"])
      check((await journal.read(key)) === undefined, `read("${key}") must be undefined, because the step is not recorded.`);
  };
  await executeOpen(bench, async (journal) => {
    check((await journal.read("run")) === undefined, 'read("run") must be undefined before the step is recorded.');
    for (const key of keys) await journal.step(key, () => ({ key }));
    await checkAll(journal);
  });
  await executeOpen(bench, checkAll);
}

export async function checkOwner(bench: JournalBench): Promise<void> {
  let opened = 0;
  const tryToOpen = async (): Promise<{ readonly isOpen: boolean; readonly settle: () => Promise<unknown> }> => {
    const before = opened;
    let hasBegun = false;
    const second = executeRun(bench, async (other) => {
      hasBegun = true;
      const close = await other.open?.();
      opened += 1;
      await close?.();
    });
    const ended = second.catch(() => {});
    // `ended` settles if the journal refuses the second execution. If the journal makes it wait, or a workflow engine starts it only after
    // the first one, `pause` ends the wait.
    await Promise.race([ended, pause(bench)]);
    return { isOpen: opened > before, settle: async () => (hasBegun ? ended : undefined) };
  };
  await executeRun(bench, async (journal) => {
    const close = await journal.open?.();
    if (close === undefined) return;
    const first = await tryToOpen();
    check(!first.isOpen, "open() must fail or wait while another execution has the journal open, but it succeeded.");
    await close();
    await first.settle();
    const closeAgain = await journal.open?.();
    await close();
    const second = await tryToOpen();
    check(!second.isOpen, "A second close() must not release the journal, which another execution has opened since.");
    await closeAgain?.();
    await second.settle();
  });
  await executeOpen(bench, async () => {});
}

export async function checkLateStep(bench: JournalBench): Promise<void> {
  const key = "step slow";
  let end: () => void = () => {};
  const late = new Promise<void>((resolve) => (end = resolve));
  await executeOpen(bench, async (journal) => {
    const slow = Promise.resolve(journal.step(key, () => late.then(() => ({ text: "from the old owner" }))));
    slow.catch(() => {});
    await pause(bench);
  });
  const second = await executeOpen(bench, async (journal) => journal.step(key, () => ({ text: "from the new owner" })));
  checkJson(second, { text: "from the new owner" }, "The result of a step that the old owner has not finished");
  end();
  await pause(bench);
  const third = await executeOpen(bench, async (journal) => recall(journal, key));
  checkJson(third, { text: "from the new owner" }, "The record, after the old owner has finished its step late");
}
