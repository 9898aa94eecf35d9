import { createHash, randomUUID } from "node:crypto";
import { mkdir, open, readFile, rename, unlink } from "node:fs/promises";
import { join, resolve } from "node:path";
import { invalidOption, isFilled, isRecord, type Journal, LoopError } from "../core/entry-kit.ts";
import { fileJournal } from "../journal/index.ts";
import type { ConversationRecord, RunStore } from "./run-store.ts";

/**
 * Makes a store in a folder, which is created if it does not exist: one file for each conversation, and one journal for each run, made by
 * `fileJournal`. They are readable by their owner only, and named by a hash of the id. Nothing is removed.
 *
 * Several processes on one machine may share the folder. A run that another process has open is "busy". After a crash, any of them
 * can resume the run.
 *
 * Throws LoopError "invalid-option" if the folder is not a path. Reading rejects with LoopError "journal-damaged" for a changed file, and
 * with errors of the disk.
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
      await replaceFile(recordPath(root, id), JSON.stringify({ version, id, ...record }));
    },
    journal: (id, number) => afterFolder(fileJournal(join(root, `${nameOf(id)}.${number}.jsonl`)), make),
  };
}

const version = 1;

/** Ids may be anything, so files are named by their hash: no separators, no reserved names, no difference of case. */
function nameOf(id: string): string {
  return createHash("sha256").update(id).digest("hex").slice(0, 40);
}

function recordPath(root: string, id: string): string {
  return join(root, `${nameOf(id)}.json`);
}

/** A journal does not create the folder of its file. */
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
  const text = await readFile(path, "utf8").catch((error: unknown) => {
    if (isRecord(error) && error["code"] === "ENOENT") return undefined;
    throw error;
  });
  if (text === undefined) return undefined;
  const record = parse(text);
  if (isRecordOf(record, id)) return record;
  throw new LoopError("journal-damaged", { path, line: 1, problem: "is not the record of this conversation" });
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
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

/** Writes a new file and puts it in the place of the old one, so that a crash leaves one of them whole. */
async function replaceFile(path: string, text: string): Promise<void> {
  const draft = `${path}.${randomUUID()}.tmp`;
  const file = await open(draft, "wx", 0o600);
  try {
    await file.writeFile(text, "utf8");
    await file.datasync();
  } catch (error) {
    await file.close();
    await unlink(draft).catch(() => {});
    throw error;
  }
  await file.close();
  await rename(draft, path);
}
