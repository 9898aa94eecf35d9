// Reads the records of a run from the journal of its workflow, for `inspectJournal`.

import { isRecord, type Journal, type UnknownRecord } from "../core/entry-kit.ts";
import { createReadOnlyJournal } from "../host/durable/read-only-journal.ts";
import type { JournalRow } from "./admin.ts";

function inside(value: unknown, ...keys: readonly string[]): UnknownRecord | undefined {
  let found: unknown = value;
  for (const key of keys) found = isRecord(found) ? found[key] : undefined;
  return isRecord(found) ? found : undefined;
}

const decoder = new TextDecoder();

/** Returns a journal that only reads the records of a run. */
export function readRestateJournal(listRows: () => Promise<readonly JournalRow[]>): Journal {
  return createReadOnlyJournal(async () => {
    const names = new Map<unknown, string>();
    const records = new Map<string, unknown>();
    for (const { name, entry_json: text } of await listRows()) {
      const entry: unknown = text === undefined ? undefined : JSON.parse(text);
      const command = inside(entry, "Command", "Run");
      if (command !== undefined) names.set(command["completion_id"], name ?? "");
      const completion = inside(entry, "Notification", "Completion", "Run");
      const bytes = inside(completion, "result")?.["Success"];
      const key = names.get(completion?.["completion_id"])?.replace(/ attempt \d+$/, "");
      if (key === undefined || !Array.isArray(bytes)) continue;
      const stored: unknown = JSON.parse(decoder.decode(Uint8Array.from(bytes as readonly number[])));
      if (isRecord(stored) && "answer" in stored) records.set(key, stored["answer"]);
    }
    return records;
  });
}
