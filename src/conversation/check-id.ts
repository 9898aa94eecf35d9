import { type Check, invalidOption, LoopError } from "../core/entry-kit.ts";

const longestId = 200;

/** Slashes and control characters are refused because programs make file names from ids, for example for journals. */
const forbidden = /[\p{Cc}\p{Cs}/\\]/u;

export const idCheck: Check = [
  `a string of 1 to ${longestId} characters without slashes, backslashes and control characters, and not "." or ".."`,
  (id) => typeof id === "string" && id.length > 0 && id.length <= longestId && !forbidden.test(id) && id !== "." && id !== "..",
];

/** Throws LoopError "invalid-option" if the value is not a valid conversation id. */
export function checkId(id: unknown): void {
  if (!idCheck[1](id)) throw invalidOption("id", idCheck[0], id);
}

export function busy(id: string): LoopError<"conversation-busy"> {
  return new LoopError("conversation-busy", { conversation: id });
}
