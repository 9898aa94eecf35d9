import { endArguments, isSameArguments } from "../shared/tool-arguments.ts";
import { filledOrNone } from "../shared/plain-error.ts";
import { isRecord, textOf } from "../core/kit.ts";
import { type ModelChunk, parseToolArguments } from "../core/index.ts";
import type { UnknownRecord } from "../shared/guards.ts";

export type CallType = "function_call" | "custom_tool_call";

/** True for calls to tools of the run. Calls to tools that the service runs have other types. */
export function isCallType(type: unknown): type is CallType {
  return type === "function_call" || type === "custom_tool_call";
}

export interface CallDraft {
  readonly key: string;
  readonly type: CallType;
  id: string | undefined;
  name: string;
  /** The arguments of a function in JSON, or the plain text input of a custom tool. */
  text: string;
  sent: number;
  announced: boolean;
  /** True while the call may repeat an earlier call with the same id. No chunks of the call are sent while this is true. */
  isHeld: boolean;
  ready: boolean;
}

export function createCallDraft(key: string, type: CallType): CallDraft {
  return { key, type, id: undefined, name: "", text: "", sent: 0, announced: false, isHeld: false, ready: false };
}

export function nameCall(call: CallDraft, { call_id: callId, id, name }: UnknownRecord, out: ModelChunk[]): void {
  call.id ??= filledOrNone(callId) ?? filledOrNone(id);
  if (call.name === "") call.name = textOf(name);
  if (call.announced || call.isHeld || call.name === "") return;
  call.announced = true;
  out.push({ type: "call-start", key: call.key, id: call.id, name: call.name });
  sendRest(call, out);
}

export function extendCall(call: CallDraft, piece: string, out: ModelChunk[]): void {
  const isUpToDate = call.announced && call.sent === call.text.length;
  call.text += piece;
  // The piece is sent without `sendRest`, which would copy the whole text for each fragment.
  if (isUpToDate) sendArgsPiece(call, piece, out);
  else sendRest(call, out);
}

/**
 * Replaces the fragments with `text`, the complete arguments. If `text` does not start with the fragments, no more arguments are
 * sent until `call-ready`. An empty `text` does not replace fragments.
 */
export function completeCall(call: CallDraft, text: string, out: ModelChunk[]): void {
  if (text === "" || text === call.text) return;
  if (call.sent > 0 && !text.startsWith(call.text)) call.sent = text.length;
  call.text = text;
  sendRest(call, out);
}

export function argumentsOf({ type, arguments: args, input }: UnknownRecord): string {
  const whole = type === "custom_tool_call" ? input : args;
  // Some servers send the arguments as an object.
  return typeof whole === "object" && whole !== null ? JSON.stringify(whole) : textOf(whole);
}

/** Ids are not compared, because some servers change them. */
export function isSameCall({ name, text, type }: CallDraft, fields: UnknownRecord): boolean {
  const other = argumentsOf(fields);
  return name === fields.name && (type === "function_call" ? isSameArguments(text, other) : text === other);
}

/** True if `call` may be an incomplete copy of `other`. */
export function isContained(call: CallDraft, other: CallDraft): boolean {
  return call.name === other.name && other.text.startsWith(call.text);
}

export function declareCall(call: CallDraft, cut: boolean, out: ModelChunk[]): void {
  call.ready = true;
  const { key, id, name, type, text } = call;
  if (type === "custom_tool_call") {
    // The earlier chunks, `{"input":"...`, have opened an object and a string. This chunk closes both.
    if (call.sent > 0) out.push({ type: "call-args-delta", key, text: '"}' });
    const args = { input: text };
    const problem = cut ? "truncated" : undefined;
    out.push({ type: "call-ready", key, id, name, args, argsText: JSON.stringify(args), problem });
    return;
  }
  out.push({ type: "call-ready", key, id, name, ...endArguments(text, cut) });
}

function sendRest(call: CallDraft, out: ModelChunk[]): void {
  if (call.announced) sendArgsPiece(call, call.text.slice(call.sent), out);
}

/** The plain input of a custom tool is sent as JSON: `{"input":"..."}`. */
function sendArgsPiece(call: CallDraft, piece: string, out: ModelChunk[]): void {
  if (piece === "") return;
  const { key, type, sent } = call;
  call.sent = call.text.length;
  if (type === "function_call") out.push({ type: "call-args-delta", key, text: piece });
  else out.push({ type: "call-args-delta", key, text: `${sent === 0 ? '{"input":"' : ""}${JSON.stringify(piece).slice(1, -1)}` });
}

export function isObjectText(text: string): boolean {
  const parsed = parseToolArguments(text);
  return /^\s*\{/.test(text) && "args" in parsed && isRecord(parsed.args);
}

/** True for text that means `{}`: empty, blank or `null`. */
export function hasNoArguments(text: string): boolean {
  return /^\s*(?:null\s*)?$/.test(text);
}
