// Stores each conversation in a journal file, with one record per change. The journal code locks the file, adds checksums, and removes a
// record left incomplete by a crash.

import { mkdir, readdir, rm, stat } from "node:fs/promises";
import { join, resolve } from "node:path";
import { checkFields, invalidOption, is, isRecord } from "../core/kit.ts";
import { isFilled, isWithin } from "../shared/errors/check-fields.ts";
import { isLoopError, LoopError, type Message } from "../core/index.ts";
import { unlessMissing } from "../shared/plain-error.ts";
import { fileJournal } from "../journal/index.ts";
import { isFileLocked } from "../journal/file-lock.ts";
import { type JournalSession, openJournal, readJournal } from "../journal/journal-session.ts";
import { toFileName } from "../journal/named-files.ts";
import { busy, checkId } from "./check-id.ts";
import { type Lines, shareLines } from "./lines.ts";
import type {
  BuiltInConversationStore,
  ConversationChange,
  ConversationState,
  StoredConversation,
  StoredListing,
} from "./conversation-store.ts";

/** The options for `fileConversationStore`. */
export interface FileConversationStoreOptions {
  /**
   * True to wait until each change is on disk. If false, changes survive a process crash, but may be lost in a power
   * failure. Default true.
   */
  readonly fsync?: boolean | undefined;
}

/**
 * Creates a store in a directory, which is created if it does not exist. Each conversation has one file, to which each change adds
 * a line. Only the owner can read the files. Several processes on one machine may share the directory. If a process dies, the
 * next process that uses the conversation removes the lock and an incomplete last line.
 *
 * Throws LoopError "invalid-option" or "unknown-option" if an argument is invalid. The methods reject with disk errors, and with
 * "journal-damaged" if something else changed a file. They reject with "journal-refused" if a file cannot be used safely, for example
 * because it is a symbolic link that another user created.
 *
 * @example
 * const store = fileConversationStore("/var/lib/chat");
 */
export function fileConversationStore(directory: string, options: FileConversationStoreOptions = {}): BuiltInConversationStore {
  if (!isFilled(directory)) throw invalidOption("directory", "the path to a directory", directory);
  checkFields("options", options, { fsync: is.flag });
  const root = resolve(directory);
  const { fsync } = options;

  const open = async (id: string): Promise<JournalSession> => {
    checkId(id);
    await mkdir(root, { recursive: true, mode: 0o700 });
    try {
      return await openJournal(pathOf(root, id), { fsync });
    } catch (error) {
      throw isLoopError(error, "journal-locked") ? busy(id) : error;
    }
  };
  const store: BuiltInConversationStore = {
    load: async (id) => {
      checkId(id);
      const session = await readJournal(pathOf(root, id)).catch(unlessMissing);
      return session === undefined ? undefined : replayChanges(id, session.answers);
    },
    lock: async (id) => {
      const session = await open(id);
      let count = session.answers.size;
      return {
        stored: await readStored(id, session),
        append: async (change) => {
          const key = keyOf(id, count);
          count += 1;
          await session.record(key, change);
        },
        release: () => session.close(),
      };
    },
    isLocked: async (id) => {
      checkId(id);
      return isFileLocked(pathOf(root, id));
    },
    remove: async (id) => {
      const session = await open(id);
      try {
        await rm(pathOf(root, id), { force: true });
      } finally {
        await session.close();
      }
    },
    list: () => listFiles(root),
    journal: (runId) => fileJournal(journalPathOf(root, runId), { fsync }),
    removeJournal: (runId) => rm(journalPathOf(root, runId), { force: true }),
  };
  return shareLines(store, linesOfFolders, root);
}

/** The queues of callers, by directory. All stores in this process with the same directory share them. */
const linesOfFolders = new Map<string, Lines>();

async function* listFiles(root: string): AsyncGenerator<StoredListing> {
  const names = (await readdir(root).catch(unlessMissing)) ?? [];
  for (const name of names.filter((one) => /^[0-9a-f]{40}\.jsonl$/.test(one))) {
    const path = join(root, name);
    // Skips a missing file, because its conversation may have been removed after the directory was read.
    const facts = await stat(path).catch(unlessMissing);
    const session = facts === undefined ? undefined : await readJournal(path).catch(unlessMissing);
    const [first] = session?.answers.keys() ?? [];
    if (facts !== undefined && first !== undefined)
      yield { id: first.slice(0, first.lastIndexOf("/")), changedAt: facts.mtimeMs };
  }
}

function pathOf(root: string, id: string): string {
  return join(root, `${toFileName(id)}.jsonl`);
}

function journalPathOf(root: string, runId: string): string {
  return join(root, `run-${toFileName(runId)}.jsonl`);
}

/** Reads a conversation. Closes the session if the changes are damaged, because otherwise the conversation would stay locked. */
async function readStored(id: string, session: JournalSession): Promise<StoredConversation | undefined> {
  try {
    return replayChanges(id, session.answers);
  } catch (error) {
    await session.close();
    throw error;
  }
}

function keyOf(id: string, count: number): string {
  return `${id}/${count}`;
}

/**
 * Returns the conversation after all changes, or undefined if there are none. Throws LoopError "journal-damaged" for damage that the
 * checksums cannot detect, for example if somebody computed new checksums or copied another conversation's file.
 */
function replayChanges(id: string, changes: ReadonlyMap<string, unknown>): StoredConversation | undefined {
  const messages: Message[] = [];
  let state: ConversationState | undefined;
  let count = 0;
  for (const [key, change] of changes) {
    if (key !== keyOf(id, count)) throw damaged(key, "belongs to a different conversation");
    if (!isChange(change, messages.length)) throw damaged(key, "is not a change of a conversation");
    messages.length = change.from;
    for (const message of change.messages) messages.push(message);
    ({ state } = change);
    count += 1;
  }
  return state === undefined ? undefined : { messages, state };
}

function damaged(key: string, problem: string): LoopError<"journal-damaged"> {
  return new LoopError("journal-damaged", { key, problem });
}

/** True if a stored value is a valid change. Does not check messages and compactions, because `runToolLoop` checks them. */
function isChange(change: unknown, length: number): change is ConversationChange {
  if (!isRecord(change) || !isCount(change["from"], length) || !isListOfRecords(change["messages"])) return false;
  return isState(change["state"], change["from"] + change["messages"].length);
}

function isState(state: unknown, length: number): state is ConversationState {
  if (!isRecord(state)) return false;
  const { runs, usage, undelivered, lastRun } = state;
  const isCounted = isCount(runs) && isRecord(usage);
  return isCounted && isListOfRecords(undelivered) && (lastRun === undefined || isRun(lastRun, length));
}

function isRun(run: unknown, length: number): boolean {
  return isRecord(run) && typeof run["runId"] === "string" && typeof run["status"] === "string" && isCount(run["start"], length);
}

function isCount(value: unknown, max?: number): value is number {
  return isWithin(value, { min: 0, max, infinite: false });
}

function isListOfRecords(value: unknown): value is readonly object[] {
  return Array.isArray(value) && value.every(isRecord);
}
