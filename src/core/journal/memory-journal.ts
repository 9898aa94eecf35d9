// Implements an in-memory journal, which can be saved as JSON.

import { invalidOption } from "../../shared/errors/loop-error.ts";
import { checkStepRecords } from "../loop/check-record.ts";
import { type MemoryJournal, recordSteps, type SavedJournal } from "../loop/journals.ts";
import { enableJournals } from "../loop/replay/enable-journals.ts";
import type { Journal } from "../types/journal.ts";
import { isRecord } from "../../shared/guards.ts";

/**
 * Creates a journal that keeps its records in memory. `runToolLoop` uses such a journal by default. A run can be resumed from its
 * memory journal. To resume in another process, save `JSON.stringify(result.journal)`, then repeat the call with the journal
 * `memoryJournal(JSON.parse(saved))`. In the same process you can pass the journal itself.
 *
 * Throws LoopError "invalid-option" if `saved` is not the parsed JSON of a memory journal, and "journal-damaged" if a record was
 * edited.
 *
 * @example
 * const first = await runToolLoop(options);
 * const again = await runToolLoop({ ...options, journal: memoryJournal(JSON.parse(JSON.stringify(first.journal))) });
 */
export function memoryJournal(saved?: SavedJournal): MemoryJournal {
  enableJournals();
  return recordSteps(readSaved(saved));
}

/**
 * Copies a journal, so that a wrapper can replace some members. The methods are bound, because `journal` may be a class
 * instance.
 */
export function wrapJournal(journal: Journal): Journal {
  enableJournals();
  const { durable, readOnly, engine } = journal;
  const open = journal.open?.bind(journal);
  const keys = journal.keys?.bind(journal);
  const toJSON: unknown = Reflect.get(journal, "toJSON");
  return {
    durable,
    readOnly,
    engine,
    step: (key, body) => journal.step(key, body),
    read: (key) => journal.read(key),
    ...(open !== undefined && { open }),
    ...(keys !== undefined && { keys }),
    ...(typeof toJSON === "function" && { toJSON: toJSON.bind(journal) as unknown }),
  };
}

function readSaved(saved: unknown): Map<string, unknown> {
  if (saved === undefined) return new Map();
  if (!isRecord(saved) || !isRecord(saved["steps"])) throw invalidOption("saved", "the parsed JSON of a memory journal", saved);
  const records = new Map(Object.entries(saved["steps"]));
  checkStepRecords(records);
  return records;
}
