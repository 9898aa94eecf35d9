// Finds recorded runs: the outermost run and its nested runs.

import type { Journal } from "../types/journal.ts";
import { checkStepRecord } from "../loop/check-record.ts";
import type { FirstRecord } from "../loop/journals.ts";

/** A journal's records. `read` checks each record. */
export interface Records {
  /** False if the journal does not record when a tool call begins. */
  readonly durable: boolean;
  read<T>(key: string): Promise<T | undefined>;
  /** Returns the keys of the nested runs' first records, if the journal can list keys. */
  findRuns(): Promise<readonly string[]>;
}

/** A run whose records are being read. */
export interface RecordedPlace {
  readonly records: Records;
  readonly first: FirstRecord;
  /** The prefix of the run's keys. Empty for the outermost run. */
  readonly prefix: string;
  /** The prefix of the run's wait ids. Empty for the outermost run. */
  readonly path: string;
  /** The outer run, and the id of its call that contains this run. */
  readonly outer?: { readonly place: RecordedPlace; readonly callId: string } | undefined;
}

export function toRecords(journal: Pick<Journal, "durable" | "read" | "keys">): Records {
  let runs: Promise<readonly string[]> | undefined;
  return {
    durable: journal.durable === true,
    async read<T>(key: string): Promise<T | undefined> {
      const found = await journal.read(key);
      if (found !== undefined) checkStepRecord(key, found);
      return found as T | undefined;
    },
    findRuns: () =>
      (runs ??= (async () => {
        const keys = (await journal.keys?.()) ?? [];
        return keys.filter((key) => key.endsWith("/run"));
      })()),
  };
}

interface NestedRun {
  /** The prefix of the nested run's keys, relative to the place of the call. */
  readonly name: string;
  readonly place: RecordedPlace;
}

/** Finds the nested runs that the tool or the run's middleware started at a place. */
export async function findNested(outer: RecordedPlace, own: string, callId: string): Promise<readonly NestedRun[]> {
  const { records, prefix } = outer;
  const found: NestedRun[] = [];
  for (const name of await findNames(outer, own)) {
    const first = await records.read<FirstRecord>(`${prefix}${own}${name}/run`);
    if (first === undefined || !Array.isArray(first.messages)) continue;
    const suffix = name.slice(name.indexOf("/") + 1).replace(/^run\/?/, "");
    const path = `${outer.path}${callId}${suffix === "" ? "" : `/${suffix}`}/`;
    found.push({ name, place: { records, first, prefix: `${prefix}${own}${name}/`, path, outer: { place: outer, callId } } });
  }
  return found;
}

async function findNames({ records, prefix, first }: RecordedPlace, own: string): Promise<readonly string[]> {
  const below = prefix + own;
  const names: string[] = [];
  for (const owner of ["tool", ...first.middleware.map((name) => `@${name}`)])
    for (let count = 1; ; count += 1) {
      const name = `${owner}/run${count === 1 ? "" : `~${count}`}`;
      if ((await records.read(`${below}${name}/run`)) === undefined) break;
      names.push(name);
    }
  // Finds the nested runs that were given a name.
  for (const key of await records.findRuns()) {
    const name = key.startsWith(below) ? key.slice(below.length, -"/run".length) : "";
    const isNamed = /^(?:tool|@[^/]+)\/run\/./.test(name) && !name.includes("/call/");
    if (isNamed && !names.some((one) => name === one || name.startsWith(`${one}/i`))) names.push(name);
  }
  return names;
}
