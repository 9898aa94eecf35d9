import { invalidOption, isLoopError, isRecord, type Journal, LoopError, type Step } from "../core/entry-kit.ts";

/**
 * Makes a journal that replays a recorded run. Repeat the call of `runToolLoop` with this journal: the run sends no request, runs
 * no tool, writes nothing, and ends as recorded. The run calls no hooks, except the `prepare` of agent tools. A run that was
 * suspended and never resumed ends as suspended. Listeners get all events with `replayed: true`.
 *
 * If a step is not recorded, the run rejects with LoopError "journal-incomplete": the recorded run had not ended, or had other
 * messages, policies or limits. A journal file is opened read-only, so another process may write the file during the replay.
 * Throws LoopError "invalid-option" if the argument is not a journal.
 *
 * @example
 * const result = await runToolLoop({ ...options, journal: replayJournal(fileJournal("runs/order-7.jsonl")) });
 */
export function replayJournal(journal: Journal): Journal {
  if (!isJournal(journal)) throw invalidOption("journal", "a journal", journal);
  const { durable, ordered } = journal;
  const open = journal.open?.bind(journal);
  const read = journal.read?.bind(journal);
  return {
    durable,
    ordered,
    step: (one) => journal.step(withoutBody(one)),
    all: (steps) => journal.all(steps.map(withoutBody)),
    replays: (key) => isRecorded(journal, key),
    has: (key) => isRecorded(journal, key),
    ...(read === undefined ? {} : { read }),
    ...(open === undefined ? {} : { open: () => open({ readOnly: true }) }),
  };
}

function withoutBody<T>(step: Step<T>): Step<T> {
  return {
    ...step,
    run: () => {
      throw new LoopError("journal-incomplete", { key: step.key });
    },
  };
}

async function isRecorded(journal: Journal, key: string): Promise<boolean> {
  if (journal.has !== undefined) return journal.has(key);
  try {
    await journal.step(withoutBody({ key, kind: "inbox", input: null, run: () => undefined }));
    return true;
  } catch (error) {
    if (isLoopError(error, "journal-incomplete")) return false;
    throw error;
  }
}

export function isJournal(value: unknown): value is Journal {
  return isRecord(value) && typeof value["step"] === "function" && typeof value["all"] === "function";
}
