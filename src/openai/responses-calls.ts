import { StreamedCall, type StreamedCalls } from "../shared/adapters/streamed-calls.ts";
import { endArguments, isSameArguments } from "../shared/tool-arguments.ts";
import { filledOrNone } from "../shared/plain-error.ts";
import { isRecord, textOf } from "../core/kit.ts";
import { parseToolArguments } from "../core/index.ts";
import type { UnknownRecord } from "../shared/guards.ts";

export type CallType = "function_call" | "custom_tool_call";

/** True for calls to the run's tools. Calls to tools that the service runs have other types. */
export function isCallType(type: unknown): type is CallType {
  return type === "function_call" || type === "custom_tool_call";
}

/** A call that arrives as a response item. Its text is a function's arguments in JSON, or a custom tool's plain text input. */
export class ItemCall extends StreamedCall {
  protected override readonly closing: string;
  readonly #isCustom: boolean;

  constructor(calls: StreamedCalls, key: string, type: CallType) {
    super(calls, key);
    this.#isCustom = type === "custom_tool_call";
    this.closing = this.#isCustom ? '"}' : "";
  }

  /** Reads the id and the name from an event, if they are not known yet. */
  identify({ call_id: callId, id, name }: UnknownRecord): void {
    this.id ??= filledOrNone(callId) ?? filledOrNone(id);
    if (this.name === "") this.name = textOf(name);
    this.send();
  }

  /** False if the fields belong to a different call. Different ids alone do not prove this, because some servers change them. */
  mayBe(fields: UnknownRecord): boolean {
    const { call_id: callId, name } = fields;
    if (this.id === undefined || typeof callId !== "string" || this.id === callId) return true;
    const args = argumentsOf(fields);
    return this.name === name && (this.#isCustom ? this.text === args : isSameArguments(this.text, args));
  }

  declare(isCut: boolean): void {
    if (!this.#isCustom) return this.end(endArguments(this.text, isCut));
    const args = { input: this.text };
    this.end({ args, argsText: JSON.stringify(args), problem: isCut ? "truncated" : undefined });
  }

  /** Wraps a custom tool's plain input in JSON: `{"input":"..."}`. */
  protected override toJson(piece: string, isFirst: boolean): string {
    return this.#isCustom ? `${isFirst ? '{"input":"' : ""}${JSON.stringify(piece).slice(1, -1)}` : piece;
  }
}

export function argumentsOf({ type, arguments: args, input }: UnknownRecord): string {
  const whole = type === "custom_tool_call" ? input : args;
  // Converts arguments to JSON text, because some servers send them as an object.
  return typeof whole === "object" && whole !== null ? JSON.stringify(whole) : textOf(whole);
}

export function isObjectText(text: string): boolean {
  const parsed = parseToolArguments(text);
  return /^\s*\{/.test(text) && "args" in parsed && isRecord(parsed.args);
}

/** True for text that means `{}`: empty, blank or `null`. */
export function hasNoArguments(text: string): boolean {
  return /^\s*(?:null\s*)?$/.test(text);
}
