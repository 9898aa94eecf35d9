import { type Check, invalidOption } from "../core/kit.ts";
import { LoopError } from "../core/index.ts";
import { toFileName } from "../journal/named-files.ts";

const maxIdLength = 200;

/** Matches characters that ids must not contain, such as slashes and control characters, because programs make file names from ids. */
const forbidden = /[\p{Cc}\p{Cs}/\\]/u;

export const idCheck: Check = [
  `a string of 1 to ${maxIdLength} characters without slashes, backslashes or control characters, and not "." or ".."`,
  (id) => typeof id === "string" && id.length > 0 && id.length <= maxIdLength && !forbidden.test(id) && id !== "." && id !== "..",
];

export function checkId(id: unknown): void {
  if (idCheck[1](id)) return;
  const [found] = typeof id === "string" ? (forbidden.exec(id) ?? []) : [];
  throw invalidOption("id", found === undefined ? idCheck[0] : `${idCheck[0]} (it contains ${JSON.stringify(found)})`, id);
}

/**
 * Creates the id of a run, which is a valid file name on every system. It begins with safe characters from the conversation id, which
 * people can recognize. The random part keeps a new conversation from getting the journals of a deleted one with the same id.
 */
export function toRunId(id: string, number: number): string {
  const shown = (id.match(/\w+/g) ?? ["chat"]).join("-").slice(0, 40);
  return `${shown}-${toFileName(id).slice(0, 16)}.${number}.${globalThis.crypto.randomUUID().slice(0, 8)}`;
}

export function busy(id: string): LoopError<"conversation-busy"> {
  return new LoopError("conversation-busy", { conversation: id });
}

export function refused(conversation: string, problem: string): LoopError<"conversation-refused"> {
  return new LoopError("conversation-refused", { conversation, problem });
}
