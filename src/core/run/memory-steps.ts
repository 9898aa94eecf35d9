// A journal in memory that can be saved as JSON.

import { invalidOption } from "../errors/check-fields.ts";
import type { Json } from "../types/common.ts";
import { isRecord } from "../utils/guards.ts";
import { checkStepRecord } from "./check-record.ts";
import { recordSteps, type StepRecords } from "./journals.ts";

/** The JSON form of a memory journal: the results of the steps by their keys, in the order of recording. */
export type SavedSteps = { readonly steps: { readonly [key: string]: Json } };

export interface MemorySteps extends StepRecords {
  toJSON(): SavedSteps;
}

/**
 * Makes a journal in memory. To resume its run in another process, save `JSON.stringify(journal)`, and pass the parsed text. Throws
 * LoopError "invalid-option" if `saved` is not the parsed JSON of a memory journal, and "journal-damaged" if a record was edited.
 */
export function memorySteps(saved?: SavedSteps): MemorySteps {
  const journal = recordSteps(readSaved(saved));
  const { records } = journal;
  return { ...journal, toJSON: () => ({ steps: Object.fromEntries(records) as SavedSteps["steps"] }) };
}

function readSaved(saved: unknown): Map<string, unknown> {
  if (saved === undefined) return new Map();
  if (!isRecord(saved) || !isRecord(saved["steps"])) throw invalidOption("saved", "the parsed JSON of a memory journal", saved);
  const records = Object.entries(saved["steps"]);
  for (const [key, record] of records) checkStepRecord(key, record);
  return new Map(records);
}
