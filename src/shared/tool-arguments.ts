// Reads the tool names and arguments that models write. Also finds repeated calls and misspelled names.

import type { Json } from "../core/types/common.ts";
import type { ModelChunk } from "../core/types/provider.ts";
import { isRecord } from "./guards.ts";
import { parseToolArguments, stableJson, toJson } from "./json.ts";

export type CallReadyChunk = Extract<ModelChunk, { readonly type: "call-ready" }>;

/** Returns the argument fields for a `call-ready` chunk. Pass `isCut: true` if the model was stopped and the text may be incomplete. */
export function endArguments(argsText: string, isCut: boolean): Pick<CallReadyChunk, "args" | "argsText" | "problem"> {
  const parsed = parseToolArguments(argsText);
  const args = "args" in parsed ? parsed.args : {};
  const problem = isCut ? "truncated" : "problem" in parsed ? parsed.problem : undefined;
  return { args, argsText, problem };
}

/**
 * Parses arguments for provider metadata, which nests them `levels` levels deeper. Returns undefined if they are not JSON, or nested too
 * deeply.
 */
export function readArguments(text: string, levels: number): Json | undefined {
  try {
    const parsed = parseToolArguments(text);
    return "args" in parsed ? toJson(parsed.args, -levels) : undefined;
  } catch {
    return undefined;
  }
}

/** True if two argument strings contain the same JSON. Spaces and the order of keys do not matter. */
export function isSameArguments(one: string, other: string): boolean {
  return one === other || argumentsKey(one) === argumentsKey(other);
}

/** Returns a key that is equal for two argument strings with the same JSON. */
export function argumentsKey(text: string): string {
  const parsed = parseToolArguments(text);
  if (!("args" in parsed)) return text;
  try {
    return stableJson(parsed.args);
  } catch {
    return text;
  }
}

/**
 * Returns a tool name of at most 64 characters: letters, digits, `_` and `-`. A service would reject every later
 * request that contains an invalid name.
 */
export function toWireName(name: string): string {
  return name.replace(/[^\w-]/g, "_").slice(0, 64) || "_";
}

/** Returns the arguments as an object, which services require. The arguments of a refused call may have any type. */
export function toArgumentsObject(args: Json): Json {
  return isRecord(args) ? args : { INVALID_ARGUMENTS: args };
}
