// Builds the tool calls of one response, from their first fragment until they are ready.

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

/** The types of items that call tools of the run. */
export type CallType = "function_call" | "custom_tool_call";

/** True if an item calls a tool of the run, not a tool that the service runs. */
export function isCallType(type: unknown): type is CallType {
  return type === "function_call" || type === "custom_tool_call";
}

/** A tool call that may still be incomplete. */
export interface CallDraft {
  readonly key: string;
  readonly type: CallType;
  id: string | undefined;
  name: string;
  /** The arguments of a function as JSON, or the plain text input of a custom tool. */
  text: string;
  /** The number of characters of `text` that have been sent. */
  sent: number;
  announced: boolean;
  /** True while another call has the same call id. No chunk of this call is sent until it is clear if it repeats the other call. */
  isHeld: boolean;
  ready: boolean;
}

export function createCallDraft(key: string, type: CallType): CallDraft {
  return { key, type, id: undefined, name: "", text: "", sent: 0, announced: false, isHeld: false, ready: false };
}

/** Adds the ids and the name from an item or an event to a call. Sends `call-start` once the call has a name. */
export function nameCall(call: CallDraft, { call_id: callId, id, name }: UnknownRecord, out: ModelChunk[]): void {
  call.id ??= filledOrNone(callId) ?? filledOrNone(id);
  if (call.name === "") call.name = textOf(name);
  if (call.announced || call.isHeld || call.name === "") return;
  call.announced = true;
  out.push({ type: "call-start", key: call.key, id: call.id, name: call.name });
  sendRest(call, out);
}

/** Adds a fragment of the arguments. */
export function extendCall(call: CallDraft, piece: string, out: ModelChunk[]): void {
  const isUpToDate = call.announced && call.sent === call.text.length;
  call.text += piece;
  // The fragment is sent directly, because slicing it from the whole text would copy the whole text each time.
  if (isUpToDate) sendArgsPiece(call, piece, out);
  else sendRest(call, out);
}

/**
 * Sets the complete arguments, which take precedence over the fragments. If the complete arguments do not start with the fragments,
 * no more arguments are sent until `call-ready`. An empty text means "no arguments" only if there were no fragments.
 */
export function completeCall(call: CallDraft, text: string, out: ModelChunk[]): void {
  if (text === "" || text === call.text) return;
  if (call.sent > 0 && !text.startsWith(call.text)) call.sent = text.length;
  call.text = text;
  sendRest(call, out);
}

/** Returns the arguments of a call item. */
export function argumentsOf({ type, arguments: args, input }: UnknownRecord): string {
  const whole = type === "custom_tool_call" ? input : args;
  // Some servers send the arguments as an object.
  return typeof whole === "object" && whole !== null ? JSON.stringify(whole) : textOf(whole);
}

/** True if an item is the same call: it has the same name and arguments. Ids are not compared. */
export function isSameCall({ name, text, type }: CallDraft, fields: UnknownRecord): boolean {
  const other = argumentsOf(fields);
  return name === fields.name && (type === "function_call" ? isSameArguments(text, other) : text === other);
}

/** True if an incomplete call has the same name as another call, and its arguments are a prefix of the other's. */
export function isContained(call: CallDraft, other: CallDraft): boolean {
  return call.name === other.name && other.text.startsWith(call.text);
}

/** Marks a call as ready. `cut` means that the model was stopped early, so the call may be incomplete. */
export function declareCall(call: CallDraft, cut: boolean, out: ModelChunk[]): void {
  call.ready = true;
  const { key, id, name, type, text } = call;
  if (type === "custom_tool_call") {
    // The chunks sent so far form an open JSON string in an object, `{"input":"...`. Close both.
    if (call.sent > 0) out.push({ type: "call-args-delta", key, text: '"}' });
    const args = { input: text };
    const problem = cut ? "truncated" : undefined;
    out.push({ type: "call-ready", key, id, name, args, argsText: JSON.stringify(args), problem });
    return;
  }
  out.push({ type: "call-ready", key, id, name, ...endArguments(text, cut) });
}

/** Sends the part of the text that has not been sent yet. */
function sendRest(call: CallDraft, out: ModelChunk[]): void {
  if (call.announced) sendArgsPiece(call, call.text.slice(call.sent), out);
}

/** Sends a fragment of the arguments. The plain input of a custom tool is sent as JSON: `{"input":"..."}`. */
function sendArgsPiece(call: CallDraft, piece: string, out: ModelChunk[]): void {
  if (piece === "") return;
  const { key, type, sent } = call;
  call.sent = call.text.length;
  if (type === "function_call") out.push({ type: "call-args-delta", key, text: piece });
  else out.push({ type: "call-args-delta", key, text: `${sent === 0 ? '{"input":"' : ""}${JSON.stringify(piece).slice(1, -1)}` });
}

/** True if a text is a JSON object. Servers require one for arguments that are sent back. */
export function isObjectText(text: string): boolean {
  const parsed = parseToolArguments(text);
  return !hasNoArguments(text) && "args" in parsed && isRecord(parsed.args);
}

/** True if a text means `{}`: it is empty, blank or `null`. */
export function hasNoArguments(text: string): boolean {
  return /^\s*(?:null\s*)?$/.test(text);
}
