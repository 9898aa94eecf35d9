// Reads the changes in the file of a conversation.

import { isRecord, isWithin, LoopError, type Message } from "../core/entry-kit.ts";
import type { ConversationChange, ConversationState, StoredConversation } from "./conversation-store.ts";

export function keyOf(id: string, count: number): string {
  return `${id}/${count}`;
}

/**
 * Returns the conversation after all changes, or undefined without a change. The checksums of a file do not stop somebody who
 * can compute them, or who copies the file of another conversation. Throws LoopError "journal-damaged" for such changes.
 */
export function replayChanges(id: string, changes: ReadonlyMap<string, unknown>): StoredConversation | undefined {
  const messages: Message[] = [];
  let state: ConversationState | undefined;
  let count = 0;
  for (const [key, change] of changes) {
    if (key !== keyOf(id, count)) throw damaged(key, "belongs to another conversation");
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

/** `runToolLoop` checks the messages and the compaction. */
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
