import { invalidOption, isRecord } from "../core/kit.ts";
import { enableJournals, type Journal, LoopError } from "../core/index.ts";

/**
 * Creates a journal that replays a recorded run. Repeat the call to `runToolLoop` with this journal: the run sends no request, runs no
 * tool, writes nothing, and ends as recorded. A run that was suspended and never resumed ends as suspended. Listeners receive all events
 * with `replayed: true`.
 *
 * If a step is not recorded, the run rejects with LoopError "journal-incomplete". In that case, the recorded run had not ended, or it
 * had different messages, middleware or limits. A journal file is opened read-only, so another process may write to it during the
 * replay. Throws LoopError "invalid-option" if the argument is not a journal.
 *
 * @example
 * const result = await runToolLoop({ ...options, journal: replayJournal(fileJournal("runs/order-7.jsonl")) });
 */
export function replayJournal(journal: Journal): Journal {
  if (!isJournal(journal)) throw invalidOption("journal", "a journal", journal);
  enableJournals();
  const { durable } = journal;
  const open = journal.open?.bind(journal);
  const keys = journal.keys?.bind(journal);
  return {
    durable,
    readOnly: true,
    read: (key) => journal.read(key),
    step: (key) =>
      journal.step(key, () => {
        throw new LoopError("journal-incomplete", { key });
      }),
    ...(keys !== undefined && { keys }),
    ...(open === undefined ? {} : { open: () => open({ readOnly: true }) }),
  };
}

export function isJournal(value: unknown): value is Journal {
  return isRecord(value) && typeof value["step"] === "function" && typeof value["read"] === "function";
}
