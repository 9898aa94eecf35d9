// Neutral messages into items of the Responses wire, each converted once in its life.

import {
  assertNever,
  isRecord,
  readTurn,
  textOf,
  toWireName,
  type AssistantMessage,
  type Json,
  type Message,
  type ToolCallPart,
  type ToolMessage,
} from "../core/provider-kit.ts";
import { isCallType, type CallType } from "./responses-calls.ts";
import { toInputContent, toResultMedia } from "./responses-content.ts";
import { readMetadata, toWireCallId } from "./responses-metadata.ts";
import type { ResponsesSettings } from "./responses-options.ts";
import type { InputItem } from "./responses-wire.ts";
import { sortResult, toMediaTitle, toWireArguments } from "./wire-calls.ts";

/** What of the options changes how a message is written. */
export type InputSettings = Pick<ResponsesSettings, "id" | "model" | "store" | "customTools" | "toolResultMedia">;

/** The wire's items for a conversation. Throws a ProviderError `bad-request` where a user's message holds what the wire has no form for. */
export type InputConverter = (messages: readonly Message[]) => readonly InputItem[];

/** One message as it is sent. */
interface ConvertedMessage {
  readonly items: readonly InputItem[];
  /** What a turn asks for, by the id of the call: its results answer in kind. */
  readonly calls: ReadonlyMap<string, WireCall>;
  /** The turn that results were written for. */
  readonly turn: ConvertedMessage | undefined;
}

interface WireCall {
  readonly type: CallType;
  /** The program that made the call, which has to get the result. */
  readonly caller: Json | undefined;
}

const noCalls: ReadonlyMap<string, WireCall> = new Map();

/** Makes a converter that remembers what it has converted, by the identity of the message. */
export function createInputConverter(settings: InputSettings): InputConverter {
  const converted = new WeakMap<Message, ConvertedMessage>();
  return (messages) => {
    const input: InputItem[] = [];
    let before: ConvertedMessage | undefined;
    for (const [index, message] of messages.entries()) {
      const known = converted.get(message);
      const isKnown = known !== undefined && (message.role !== "tool" || known.turn === before);
      const current = isKnown ? known : convert(message, { before, index }, settings);
      if (!isKnown) converted.set(message, current);
      for (const item of current.items) input.push(item);
      before = current;
    }
    return input;
  };
}

/** Where a message stands. */
interface Place {
  readonly before: ConvertedMessage | undefined;
  readonly index: number;
}

function convert(message: Message, { before, index }: Place, settings: InputSettings): ConvertedMessage {
  switch (message.role) {
    case "user": {
      const content = toInputContent(message.content, { provider: settings.id, message: index });
      return { items: [{ role: "user", content }], calls: noCalls, turn: undefined };
    }
    case "assistant":
      return convertTurn(message, settings);
    case "tool":
      return { items: convertResults(message, before?.calls ?? noCalls, settings), calls: noCalls, turn: before };
    default:
      return assertNever(message);
  }
}

function convertTurn(message: AssistantMessage, settings: InputSettings): ConvertedMessage {
  const items = readMetadata(message, settings) ?? rebuildTurn(message, settings);
  const calls = new Map<string, WireCall>();
  for (const { type, call_id: id, caller } of items) if (isCallType(type)) calls.set(textOf(id), { type, caller });
  return { items, calls, turn: undefined };
}

/** Text and calls only: reasoning of another model cannot be read. A turn that has neither is left out. */
function rebuildTurn(turn: AssistantMessage, settings: InputSettings): readonly InputItem[] {
  const { text, calls: asked } = readTurn(turn);
  const calls = asked.map((call) => rebuildCall(call, settings));
  return text.trim() === "" ? calls : [{ role: "assistant", content: text }, ...calls];
}

function rebuildCall({ callId, name, args }: ToolCallPart, { customTools }: InputSettings): InputItem {
  const known = { call_id: toWireCallId(callId), name: toWireName(name) };
  if (customTools.has(name) && isRecord(args) && typeof args.input === "string") {
    return { type: "custom_tool_call", ...known, input: args.input };
  }
  return { type: "function_call", ...known, arguments: toWireArguments(args) };
}

/** One item per result, at once after the turn; what servers do not take in them follows in one user message. */
function convertResults(
  { results }: ToolMessage,
  calls: ReadonlyMap<string, WireCall>,
  settings: InputSettings,
): readonly InputItem[] {
  const inTool = settings.toolResultMedia === "tool-message";
  const items: InputItem[] = [];
  const aside: InputItem[] = [];
  for (const result of results) {
    const { text, media: parts } = sortResult(result, toResultMedia);
    const id = toWireCallId(result.callId);
    const { type, caller } = calls.get(id) ?? { type: "function_call" };
    items.push({
      type: `${type}_output`,
      call_id: id,
      output: inTool && parts.length > 0 ? [...toTextParts(text), ...parts] : text,
      ...(isRecord(caller) ? { caller } : {}),
    });
    if (!inTool && parts.length > 0) aside.push({ type: "input_text", text: toMediaTitle(result.name, id) }, ...parts);
  }
  if (aside.length > 0) items.push({ role: "user", content: aside });
  return items;
}

function toTextParts(text: string): readonly InputItem[] {
  return text === "" ? [] : [{ type: "input_text", text }];
}
