// The package's journals pass the suite. Each broken journal fails exactly the checks for its fault.

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { memoryJournal } from "../core/journal/memory-journal.ts";
import type { SavedJournal } from "../core/loop/journals.ts";
import { fileJournal } from "../journal/file-journal.ts";
import type { Journal } from "../core/types/journal.ts";
import { stableJson } from "../shared/json.ts";
import type { JournalSuiteSetup } from "./journal-steps.ts";
import { journalSuite } from "./journal-suite.ts";
import { createTestClock } from "./test-clock.ts";

describe("journalSuite with memoryJournal", () => {
  const saved = new Map<string, string>();
  const execute: JournalSuiteSetup["execute"] = async (runId, body) => {
    const text = saved.get(runId);
    const journal = memoryJournal(text === undefined ? undefined : (JSON.parse(text) as SavedJournal));
    try {
      return await body(journal);
    } finally {
      saved.set(runId, JSON.stringify(journal));
    }
  };
  for (const { title, run } of journalSuite({ execute })) it(title, run);
});

describe("journalSuite with fileJournal", () => {
  let folder = "";
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "turnwright-suite-"));
  });
  afterAll(() => rm(folder, { recursive: true }));
  const execute: JournalSuiteSetup["execute"] = (runId, body) =>
    body(fileJournal(join(folder, `${runId}.jsonl`), { fsync: false }));
  for (const { title, run } of journalSuite({ execute })) it(title, run);
});

/** The records of all runs. Key: the run id, two spaces and the step's key. */
type Records = Map<string, string>;

interface Fault {
  /** True if the journal has no optional methods. */
  readonly only?: true;
  /** The fault that a second `close` also closes the journal for its next owner. */
  readonly closesAnyOwner?: true;
  /** Changes a key before it is used. */
  readonly toKey?: (runId: string, key: string) => string;
  readonly write?: (value: unknown) => string | undefined;
  readonly change?: (journal: Required<Omit<Journal, "readOnly" | "engine" | "keys">>, records: Records) => Partial<Journal>;
}

function brokenSetup({
  toKey = (runId, key) => `${runId}  ${key}`,
  write = JSON.stringify,
  change,
  only,
  closesAnyOwner,
}: Fault): JournalSuiteSetup {
  const records: Records = new Map();
  const owners = new Map<string, symbol>();
  const journalOf = (runId: string): Journal => {
    const step = async <T>(key: string, body: () => T | PromiseLike<T>): Promise<T> => {
      const found = records.get(toKey(runId, key));
      if (found !== undefined) return JSON.parse(found) as T;
      const answer = await body();
      const text = write(answer);
      if (text !== undefined && !records.has(toKey(runId, key))) records.set(toKey(runId, key), text);
      return answer;
    };
    const journal = {
      durable: true,
      step,
      read: (key: string): unknown => {
        const text = records.get(toKey(runId, key));
        return text === undefined ? undefined : JSON.parse(text);
      },
      open: async () => {
        if (owners.has(runId)) throw new Error("The journal is open.");
        const owner = Symbol("owner");
        owners.set(runId, owner);
        return async () => {
          if (owners.get(runId) === owner || closesAnyOwner === true) owners.delete(runId);
        };
      },
    };
    return only === true ? { durable: true, step, read: journal.read } : { ...journal, ...change?.(journal, records) };
  };
  return { execute: (runId, body) => body(journalOf(runId)) };
}

async function findComplaints(fault: Fault, isTried = (_title: string): boolean => true): Promise<readonly string[]> {
  const clock = createTestClock();
  const complaints: string[] = [];
  for (const { title, run } of journalSuite({ ...brokenSetup(fault), clock, withinMs: 1_000 })) {
    if (!isTried(title)) continue;
    const running = run().catch(() => void complaints.push(title));
    await clock.runAll();
    await running;
  }
  return complaints;
}

const order = "runs parallel steps at the same time";
const twice = "runs each call once if two executions of a run overlap";
const killed = "does not run a killed call again";
const approved = "runs an approved call exactly once";
const bytes = "returns each recorded result byte for byte";
const large = "keeps a result of 4 MB";
const keys = "keeps the records of similar keys and of different runs apart";
const failure = "runs a step again in a later execution if the step failed";
const records = "returns the recorded results, and only these, from read()";
const lateStep = "keeps the record of a new owner if the old owner finishes the same step later";
const everyCut = "gives a run the same result after crashes at many steps";
const owner = "refuses a second call of the optional method open() while the journal is open";

describe("journalSuite", () => {
  it.for<[what: string, fault: Fault]>([
    ["has no fault", {}],
    ["has only step() and read()", { only: true }],
  ])("passes for a journal that %s", async ([, fault]) => {
    expect(await findComplaints(fault)).toEqual([]);
  });

  it.for<[what: string, fault: Fault, complaints: readonly string[]]>([
    [
      "runs parallel steps one after another",
      {
        change: ({ step }) => {
          let last: Promise<unknown> = Promise.resolve();
          return {
            step<T>(key: string, body: () => T | PromiseLike<T>) {
              const next = last.then(() => step(key, body));
              last = next.catch(() => {});
              return next;
            },
          };
        },
      },
      [order],
    ],
    ["sorts the keys of results", { write: stableJson }, [bytes]],
    ["loses null characters", { write: (value) => JSON.stringify(value).replaceAll("\\u0000", "") }, [bytes, keys]],
    [
      "loses large results",
      { write: (value) => (JSON.stringify(value).length > 1_000_000 ? undefined : JSON.stringify(value)) },
      [large],
    ],
    ["ignores the case of keys", { toKey: (runId, key) => `${runId}  ${key.toLowerCase()}` }, [keys]],
    ["replaces lone surrogates in keys", { toKey: (runId, key) => `${runId}  ${key.replaceAll(/\p{Cs}/gu, "?")}` }, [keys]],
    ["shortens keys", { toKey: (runId, key) => `${runId}  ${key.slice(0, 255)}` }, [keys]],
    [
      "records failures",
      {
        change: ({ step }) => ({
          async step<T>(key: string, body: () => T | PromiseLike<T>) {
            const run = async (): Promise<unknown> => {
              try {
                return { value: await body() };
              } catch (error) {
                return { error: String(error) };
              }
            };
            const end = (await step(key, run)) as { readonly value: T } | { readonly error: string };
            if ("error" in end) throw new Error(end.error);
            return end.value;
          },
        }),
      },
      [failure, records, twice, everyCut, killed, approved],
    ],
    [
      "reports each step as recorded",
      { change: () => ({ read: (key) => ({ key }) }) },
      [records, twice, everyCut, killed, approved],
    ],
    ["reports no step as recorded", { change: () => ({ read: () => undefined }) }, [records, approved]],
    ["loses its new owner when the old owner calls close() twice", { closesAnyOwner: true }, [owner]],
    [
      "overwrites a record with the late result of an old owner",
      {
        change: ({ step }, store) => ({
          async step<T>(key: string, body: () => T | PromiseLike<T>) {
            const result = await step(key, body);
            const stored = [...store.keys()].find((one) => one.endsWith(`  ${key}`));
            if (stored !== undefined && key.endsWith(" slow")) store.set(stored, JSON.stringify(result));
            return result;
          },
        }),
      },
      [lateStep],
    ],
    ["opens for two owners", { change: () => ({ open: async () => async () => {} }) }, [owner]],
  ])("fails exactly the expected checks for a journal that %s", async ([, fault, complaints]) => {
    // Tries the slow check only where it must fail, because it takes longer than all others together.
    const isTried = (title: string): boolean => title !== everyCut || complaints.includes(title);
    expect(await findComplaints(fault, isTried)).toEqual(complaints);
  });

  it("fails every check that needs a later execution if the journal records nothing", async () => {
    expect((await findComplaints({ write: () => undefined })).length).toBeGreaterThanOrEqual(9);
  });
});
