// The checks of the journal suite that call the methods of the journal.

import { type Journal, type Json, type Step, systemClock, toPlainError } from "../core/entry-kit.ts";
import { check, type Patience, within } from "./suite-check.ts";
import { untilAborted } from "./scripted-stream.ts";

/** Connects `journalSuite` to the journal to test. */
export interface JournalSuiteSetup extends Patience {
  /**
   * Calls `body` with the journal of the run `runId`, and returns its result. For a later execution of the run, the suite calls
   * this function again with the same `runId`: the journal must then have all records of the earlier executions. Two executions
   * may overlap. In a workflow engine, `body` is called inside the workflow `runId`.
   *
   * Do not open the journal, because `body` does. `runId` has at most 60 letters, digits and hyphens, and is new for each check.
   */
  execute<T>(runId: string, body: (journal: Journal) => Promise<T>): PromiseLike<T>;
  /** How long the journal may need to record a step in the background, in milliseconds. Default 20. */
  readonly pauseMs?: number | undefined;
  /** Sends a decision to a run that waits for `key`. Needed if the journal has `wait`. */
  send?(runId: string, key: string, decision: Json): unknown;
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
      // A second call of `close` must have no effect.
      await close?.();
    }
  });
}

/** Waits while a journal may still be recording steps in the background. */
export function pause({ setup: { clock = systemClock, pauseMs = 20 } }: JournalBench): Promise<void> {
  return new Promise((resolve) => void clock.setTimeout(resolve, pauseMs));
}

function stepOf<T>(key: string, run: () => PromiseLike<T> | T): Step<T> {
  return { key, kind: "tool", input: { key }, run };
}

function refusing(key: string): Step<never> {
  return stepOf(key, () => {
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
  const first = await executeOpen(bench, async (journal) => journal.step(stepOf("i0/model", () => ({ text: "Hello." }))));
  checkJson(first, { text: "Hello." }, "The result of a new step");
  const again = await executeOpen(bench, async (journal) => journal.step(refusing("i0/model")));
  checkJson(again, { text: "Hello." }, "The result of a recorded step");
}

export async function checkGroup(bench: JournalBench): Promise<void> {
  const keys = ["i0/tool/0/a", "i0/tool/1/b", "i0/tool/2/c"];
  const release: (() => void)[] = [];
  const turns = keys.map((_, position) => new Promise<void>((resolve) => (release[position] = resolve)));
  let begun = 0;
  // Each step waits until all steps have begun, and then the steps end in reverse order. Steps that run one by one reach the time limit.
  const bodyOf = (position: number) => async (): Promise<number> => {
    begun += 1;
    if (begun === keys.length) release.at(-1)?.();
    await within(turns[position] ?? Promise.resolve(), "The steps of a group did not run at the same time", bench.setup);
    release[position - 1]?.();
    return position;
  };
  const results = await executeOpen(bench, async (journal) =>
    journal.all(keys.map((key, position) => stepOf(key, bodyOf(position)))),
  );
  checkJson(results, [0, 1, 2], "The results of a group");
  const again = await executeOpen(bench, async (journal) => journal.all(keys.map(refusing)));
  checkJson(again, [0, 1, 2], "The recorded results of a group");
}

export async function checkCutGroup(bench: JournalBench): Promise<void> {
  const [fast, slow] = ["i0/tool/0/fast", "i0/tool/1/slow"];
  await executeOpen(bench, async (journal) => {
    const never = (): Promise<string> => untilAborted(bench.signal).then(() => "too late");
    const group = Promise.resolve(journal.all([stepOf(fast, () => "first"), stepOf(slow, never)]));
    group.catch(() => {});
    await pause(bench);
  });
  const results = await executeOpen(bench, async (journal) =>
    journal.all<string>([refusing(fast), stepOf(slow, () => "second")]),
  );
  checkJson(results, ["first", "second"], "The results of a group that a crash interrupted");
}

const awkward: Json = {
  z: [0.1, -1e-7, 1e21, Number.MAX_SAFE_INTEGER, true, null, "", {}, []],
  b: 'A "quote", a \\, a tab\t, a null \u0000, a lone surrogate \ud800, 日本語 and 👩‍🚀',
  a: { y: 1, x: { 10: "ten", 9: "nine" } },
  ...JSON.parse('{"__proto__":{"admin":true},"constructor":"c"}'),
};

export async function checkBytes(bench: JournalBench): Promise<void> {
  const values: readonly Json[] = [awkward, null, false, 0, "", [], [[awkward]]];
  const body = async (journal: Journal, isNew: boolean): Promise<void> => {
    for (const [index, value] of values.entries()) {
      const key = `i${index}/model`;
      const result = await journal.step(isNew ? stepOf(key, () => value) : refusing(key));
      checkJson(result, value, `The ${isNew ? "" : "recorded "}result of "${key}"`);
    }
  };
  await executeOpen(bench, (journal) => body(journal, true));
  await executeOpen(bench, (journal) => body(journal, false));
}

export async function checkLargeResult(bench: JournalBench): Promise<void> {
  const large = { text: "größer ".repeat(600_000) };
  await executeOpen(bench, async (journal) => journal.step(stepOf("i0/tool/0/read", () => large)));
  const again = await executeOpen(bench, async (journal) => journal.step(refusing("i0/tool/0/read")));
  checkJson(again, large, "The recorded result of 4 MB");
}

export async function checkKeys(bench: JournalBench): Promise<void> {
  const long = `i0/tool/0/${"nested/".repeat(60)}`;
  const keys = ["a", "A", "a ", "a/b", "a%2Fb", "a_b", "a%", "é", "e\u0301", "__proto__", "constructor", long, `${long}x`];
  const write = (other: JournalBench): Promise<void> =>
    executeOpen(other, async (journal) => {
      for (const key of keys) await journal.step(stepOf(key, () => `${other.runId} ${key}`));
    });
  const second = { ...bench, runId: `${bench.runId}-2` };
  await write(bench);
  await write(second);
  for (const one of [bench, second])
    await executeOpen(one, async (journal) => {
      for (const key of keys)
        checkJson(await journal.step(refusing(key)), `${one.runId} ${key}`, `The record of ${JSON.stringify(key)}`);
    });
}

export async function checkFailedStep(bench: JournalBench): Promise<void> {
  const failing = stepOf("i0/model", () => Promise.reject(new RangeError("out of range")));
  const failure = await executeOpen(bench, async (journal) => {
    try {
      return { value: await journal.step(failing) };
    } catch (error) {
      return { error: toPlainError(error) };
    }
  });
  check("error" in failure, "The step failed, but the journal returned a result.");
  checkJson(failure.error.message, "out of range", "The message of the error");
  const again = await executeOpen(bench, async (journal) => journal.step(stepOf("i0/model", () => "Hello.")));
  checkJson(again, "Hello.", "The result in the later execution");
}

export async function checkRecords(bench: JournalBench): Promise<void> {
  const keys = ["run", "i0/inbox", "i0/model"];
  await executeOpen(bench, async (journal) => {
    for (const key of keys) await journal.step(stepOf(key, () => ({ key })));
    const records = await journal.read?.();
    if (records !== undefined) {
      checkJson([...records.keys()], keys, "The keys in read()");
      checkJson(
        [...records.values()],
        keys.map((key) => ({ key })),
        "The results in read()",
      );
    }
    if (journal.has === undefined) return;
    for (const key of keys) check(await journal.has(key), `has("${key}") must be true, because the step is recorded.`);
    for (const key of ["i1/model", "i0/%"])
      check(!(await journal.has(key)), `has("${key}") must be false, because the step is not recorded.`);
  });
}

export async function checkOwner(bench: JournalBench): Promise<void> {
  let opened = 0;
  const tryToOpen = async (): Promise<boolean> => {
    const before = opened;
    const second = executeRun(bench, async (other) => {
      const close = await other.open?.();
      opened += 1;
      await close?.();
    });
    const ended = second.then(
      () => {},
      () => {},
    );
    // If the journal refuses the second execution, `ended` settles. With a workflow engine, `ended` does not settle yet, because
    // the engine starts the second execution only after the first one has ended. This line then waits for `pause`.
    await Promise.race([ended, pause(bench)]);
    return opened > before;
  };
  await executeRun(bench, async (journal) => {
    const close = await journal.open?.();
    if (close === undefined) return;
    check(!(await tryToOpen()), "open() must fail or wait while another execution has the journal open, but it succeeded.");
    await close();
    const closeAgain = await journal.open?.();
    await close();
    check(
      !(await tryToOpen()),
      "If close() is called twice, the second call must not release the journal, which another execution has opened since.",
    );
    await closeAgain?.();
  });
  await executeOpen(bench, async () => {});
}

export async function checkLateStep(bench: JournalBench): Promise<void> {
  const key = "i0/tool/0/slow";
  let end: () => void = () => {};
  const late = new Promise<void>((resolve) => (end = resolve));
  await executeOpen(bench, async (journal) => {
    const slow = Promise.resolve(journal.step(stepOf(key, () => late.then(() => "from the old owner"))));
    slow.catch(() => {});
    await pause(bench);
  });
  const second = await executeOpen(bench, async (journal) => journal.step(stepOf(key, () => "from the new owner")));
  checkJson(second, "from the new owner", "The result of a step that the old owner has not finished");
  end();
  await pause(bench);
  const third = await executeOpen(bench, async (journal) => journal.step(refusing(key)));
  checkJson(third, "from the new owner", "The record, after the old owner has finished its step late");
}
