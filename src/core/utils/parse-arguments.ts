// What a model wrote as the arguments of a call, as a value.

import type { ModelChunk } from "../types/provider.ts";

/** Arguments as a value, or the reason why there is none. */
export type ParsedArguments = { readonly args: unknown } | { readonly problem: "malformed" };

/**
 * Parses the text of a call's arguments. A blank text and `null` mean `{}`: servers send either for a tool without parameters.
 * Anything else must be JSON; nothing is repaired. A key "__proto__" stays data.
 *
 * @example
 * parseToolArguments('{"city":"Oslo"}'); // { args: { city: "Oslo" } }
 * parseToolArguments(""); // { args: {} }
 * parseToolArguments("null"); // { args: {} }
 * parseToolArguments('{"city":'); // { problem: "malformed" }
 */
export function parseToolArguments(text: string): ParsedArguments {
  if (text.trim() === "") return { args: {} };
  try {
    return { args: JSON.parse(text) ?? {} };
  } catch {
    return { problem: "malformed" };
  }
}

type ReadyCall = Extract<ModelChunk, { readonly type: "call-ready" }>;

/** What `call-ready` says of the arguments of a call; `isCut` where the model was stopped and they may be incomplete. */
export function endArguments(argsText: string, isCut: boolean): Pick<ReadyCall, "args" | "argsText" | "problem"> {
  const parsed = parseToolArguments(argsText);
  const args = "args" in parsed ? parsed.args : {};
  const problem = isCut ? "truncated" : "problem" in parsed ? parsed.problem : undefined;
  return { args, argsText, problem };
}
