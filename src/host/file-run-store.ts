import { mkdir, open, readdir, readFile, rm } from "node:fs/promises";
import { join, resolve } from "node:path";
import { invalidOption, isRecord } from "../core/kit.ts";
import { isFilled } from "../shared/errors/check-fields.ts";
import { type Journal, LoopError } from "../core/index.ts";
import { parseJson } from "../shared/json.ts";
import { unlessMissing } from "../shared/plain-error.ts";
import { fileJournal } from "../journal/index.ts";
import { toFileName, writeWhole } from "../journal/named-files.ts";
import type { ConversationRecord, ListedConversation, RunStore } from "./run-store.ts";

/**
 * Creates a store in a folder, which is created if it does not exist. Each conversation has one file, and each run has one
 * journal made by `fileJournal`. Only the owner can read the files. File names are made from a hash of the conversation id.
 *
 * Several processes on one machine may share the folder. If another process has a run open, the host answers "busy". After a
 * crash, any of these processes can resume the run.
 *
 * Throws LoopError "invalid-option" if `folder` is not a path. Reads reject with LoopError "journal-damaged" if a file is not a
 * valid record, and with errors of the disk.
 *
 * @example
 * const host = createRunHost({ store: fileRunStore("/var/lib/chat/runs") });
 */
export function fileRunStore(folder: string): RunStore {
  if (!isFilled(folder)) throw invalidOption("folder", "the path of a folder", folder);
  const root = resolve(folder);
  const make = (): Promise<unknown> => mkdir(root, { recursive: true, mode: 0o700 });
  return {
    read: (id) => readRecord(recordPath(root, id), id),
    write: async (id, record) => {
      await make();
      await writeWhole(recordPath(root, id), JSON.stringify({ version, id, ...record }));
    },
    journal: (id, number) => afterFolder(fileJournal(join(root, `${toFileName(id)}.${number}.jsonl`)), make),
    removeJournal: (id, number) => rm(join(root, `${toFileName(id)}.${number}.jsonl`), { force: true }),
    remove: async (id) => {
      const record = recordPath(root, id);
      const names = (await readdir(root).catch(unlessMissing)) ?? [];
      const own = names.filter((name) => name.startsWith(`${toFileName(id)}.`)).map((name) => join(root, name));
      // A record without journals can be removed again. A journal without a record would belong to the next conversation with this id.
      for (const path of own) if (path !== record) await rm(path, { force: true });
      await rm(record, { force: true });
    },
    list: () => listRecords(root),
  };
}

/** Reads only the beginning of each file, because records contain whole transcripts. */
async function* listRecords(root: string): AsyncGenerator<ListedConversation> {
  const names = (await readdir(root).catch(unlessMissing)) ?? [];
  for (const name of names.filter((one) => /^[0-9a-f]{40}\.json$/.test(one))) {
    const found = await readListed(join(root, name));
    if (found !== undefined) yield found;
  }
}

async function readListed(path: string): Promise<ListedConversation | undefined> {
  // The conversation may be removed while the folder is read.
  const file = await open(path, "r").catch(unlessMissing);
  if (file === undefined) return undefined;
  try {
    const { mtimeMs, size } = await file.stat();
    for (let length = 1_024; ; length *= 8) {
      const { buffer, bytesRead } = await file.read(Buffer.alloc(Math.min(length, size)), 0, Math.min(length, size), 0);
      const id = readRecordId(buffer.toString("utf8", 0, bytesRead));
      if (id !== undefined) return { id, changedAt: mtimeMs };
      if (length >= size) return undefined;
    }
  } finally {
    await file.close();
  }
}

/** Returns undefined if the text does not contain the whole id. The id is directly after the version. */
function readRecordId(text: string): string | undefined {
  const [, quoted] = /^\{"version":1,"id":("(?:[^"\\]|\\.)*")/.exec(text) ?? [];
  const id = quoted === undefined ? undefined : parseJson(quoted);
  return typeof id === "string" ? id : undefined;
}

const version = 1;

function recordPath(root: string, id: string): string {
  return join(root, `${toFileName(id)}.json`);
}

/** Returns a journal that calls `make` before opening, because `fileJournal` requires that the folder exists. */
function afterFolder(journal: Journal, make: () => Promise<unknown>): Journal {
  const { open: openJournal } = journal;
  if (openJournal === undefined) return journal;
  return {
    ...journal,
    open: async (how) => {
      await make();
      return openJournal(how);
    },
  };
}

async function readRecord(path: string, id: string): Promise<ConversationRecord | undefined> {
  const text = await readFile(path, "utf8").catch(unlessMissing);
  if (text === undefined) return undefined;
  const record = parseJson(text);
  if (isRecordOf(record, id)) return record;
  throw new LoopError("journal-damaged", { path, line: 1, problem: "is not the record of this conversation" });
}

function isRecordOf(value: unknown, id: string): value is ConversationRecord {
  if (!isRecord(value) || value["version"] !== version || value["id"] !== id) return false;
  const { runs, status, messages, undelivered, steered } = value;
  const isCounted = typeof runs === "number" && Number.isSafeInteger(runs) && runs > 0;
  return (
    isCounted &&
    typeof status === "string" &&
    Array.isArray(messages) &&
    [undelivered, steered].every((list) => list === undefined || Array.isArray(list))
  );
}
