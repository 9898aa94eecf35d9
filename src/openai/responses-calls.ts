// The calls of one response, from their first piece to the moment in which they may be run.

import {
  endArguments,
  filledOrNone,
  isRecord,
  isSameArguments,
  parseToolArguments,
  textOf,
  type ModelChunk,
  type UnknownRecord,
} from "../core/provider-kit.ts";

/** The types of items that are calls of the run's own tools. */
export type CallType = "function_call" | "custom_tool_call";

/** Whether an item is a call of the run's own tools; those of the service's are none. */
export function isCallType(type: unknown): type is CallType {
  return type === "function_call" || type === "custom_tool_call";
}

/** One call, as far as it has come. */
export interface CallDraft {
  readonly key: string;
  readonly type: CallType;
  id: string | undefined;
  name: string;
  /** JSON of a function's arguments, or the plain input of a custom tool. */
  text: string;
  /** How much of `text` has gone out. */
  sent: number;
  announced: boolean;
  /** Its call id is that of another one, so that it may be that one again: nothing of it is told before this is known. */
  isHeld: boolean;
  ready: boolean;
}

/** Makes an empty call. */
export function createCallDraft(key: string, type: CallType): CallDraft {
  return { key, type, id: undefined, name: "", text: "", sent: 0, announced: false, isHeld: false, ready: false };
}

/** Takes what an item, or an event, says of its call, and announces it once it has a name. */
export function nameCall(call: CallDraft, { call_id: callId, id, name }: UnknownRecord, out: ModelChunk[]): void {
  call.id ??= filledOrNone(callId) ?? filledOrNone(id);
  if (call.name === "") call.name = textOf(name);
  if (call.announced || call.isHeld || call.name === "") return;
  call.announced = true;
  out.push({ type: "call-start", key: call.key, id: call.id, name: call.name });
  sendRest(call, out);
}

/** Takes a piece of the arguments. */
export function extendCall(call: CallDraft, piece: string, out: ModelChunk[]): void {
  const isUpToDate = call.announced && call.sent === call.text.length;
  call.text += piece;
  // Cutting the piece out of the whole again would copy the whole each time.
  if (isUpToDate) sendPiece(call, piece, out);
  else sendRest(call, out);
}

/**
 * Takes the arguments as a whole. They outrank the pieces; where they do not go on from them, nothing more of them is told before the
 * call is ready. No text is no arguments only where no piece came.
 */
export function completeCall(call: CallDraft, text: string, out: ModelChunk[]): void {
  if (text === "" || text === call.text) return;
  if (call.sent > 0 && !text.startsWith(call.text)) call.sent = text.length;
  call.text = text;
  sendRest(call, out);
}

/** The arguments of an item that is a call. */
export function argumentsOf({ type, arguments: args, input }: UnknownRecord): string {
  const whole = type === "custom_tool_call" ? input : args;
  // Some servers send the arguments as the object itself.
  return typeof whole === "object" && whole !== null ? JSON.stringify(whole) : textOf(whole);
}

/** Whether an item asks for what a call asked for, whatever its ids are. */
export function isSameCall({ name, text, type }: CallDraft, fields: UnknownRecord): boolean {
  const other = argumentsOf(fields);
  return name === fields.name && (type === "function_call" ? isSameArguments(text, other) : text === other);
}

/** Whether a call, as far as it came, says nothing that another one has not said. */
export function isContained(call: CallDraft, other: CallDraft): boolean {
  return call.name === other.name && other.text.startsWith(call.text);
}

/** Declares a call ready; `cut` says that the model was stopped and the call may be incomplete. */
export function declareReady(call: CallDraft, cut: boolean, out: ModelChunk[]): void {
  call.ready = true;
  const { key, id, name, type, text } = call;
  if (type === "custom_tool_call") {
    // The part of the input that was sent belongs to a JSON object that is still open.
    if (call.sent > 0) out.push({ type: "call-args-delta", key, text: '"}' });
    const args = { input: text };
    const problem = cut ? "truncated" : undefined;
    out.push({ type: "call-ready", key, id, name, args, argsText: JSON.stringify(args), problem });
    return;
  }
  out.push({ type: "call-ready", key, id, name, ...endArguments(text, cut) });
}

/** Tells the listener what is new. */
function sendRest(call: CallDraft, out: ModelChunk[]): void {
  if (call.announced) sendPiece(call, call.text.slice(call.sent), out);
}

/** The input of a custom tool is told as the JSON that its arguments become. */
function sendPiece(call: CallDraft, piece: string, out: ModelChunk[]): void {
  if (piece === "") return;
  const { key, type, sent } = call;
  call.sent = call.text.length;
  if (type === "function_call") out.push({ type: "call-args-delta", key, text: piece });
  else out.push({ type: "call-args-delta", key, text: `${sent === 0 ? '{"input":"' : ""}${JSON.stringify(piece).slice(1, -1)}` });
}

/** Whether a text is a JSON object, as servers want the arguments that they are sent back. */
export function isObjectText(text: string): boolean {
  const parsed = parseToolArguments(text);
  return !hasNoArguments(text) && "args" in parsed && isRecord(parsed.args);
}

/** Whether a text stands for `{}` without being it. */
export function hasNoArguments(text: string): boolean {
  return /^\s*(?:null\s*)?$/.test(text);
}
