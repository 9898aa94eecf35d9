// Builds a transcript from another library's or service's history. Gives each call exactly one result, directly after its message, because
// a run rejects any other transcript.

import { type Check, isFilled } from "../errors/check-fields.ts";
import { LoopError } from "../errors/loop-error.ts";
import { renderOutcome } from "../to-outcome.ts";
import type { ContentPart, Json } from "../../core/types/common.ts";
import type {
  AssistantMessage,
  AssistantPart,
  Message,
  ProviderMetadata,
  ToolResultPart,
  UserMessage,
} from "../../core/types/message.ts";
import { isRecord, type UnknownRecord } from "../guards.ts";
import { isSameJson, toJson } from "../json.ts";
import { locateMedia } from "../media-source.ts";
import { toPlainError } from "../plain-error.ts";
import { describeValue } from "../texts.ts";
import { comparePieces, type LostContent, type Piece } from "./find-lost.ts";

/** A history that was converted to a transcript. Pass `messages` and `system` to a run. */
export interface ReadHistory {
  readonly messages: readonly Message[];
  /** The system text, if the history begins with one. */
  readonly system?: string | undefined;
  /** The content that is missing or different in the transcript. Empty if the history can be restored from the transcript. */
  readonly lost: readonly LostContent[];
}

/**
 * The provider that will receive the history. Some messages would change when the history is restored from the transcript. For these
 * messages, the transcript also keeps the original items, as provider metadata with this `id` and `model`. Only a provider with
 * the same `id` and `model` gets these items back.
 */
export interface HistoryProvider {
  readonly id: string;
  readonly model: string;
}

export const historyProviderCheck: Check = [
  'a provider, or { id: "...", model: "..." }',
  (value) => isRecord(value) && isFilled(value.id) && isFilled(value.model),
];

export type ReadResult = Omit<ToolResultPart, "name">;

interface OpenCall {
  readonly callId: string;
  readonly name: string;
  result: ReadResult | undefined;
}

interface Unit {
  readonly message: UserMessage | AssistantMessage;
  readonly pieces: Piece[];
  readonly calls: readonly OpenCall[];
}

/** Writes messages in the history's format, with one value for each piece. */
export type PieceWriter = (messages: readonly Message[]) => readonly Json[];

export class HistoryDraft {
  readonly #units: Unit[] = [];
  readonly #stray: Piece[] = [];
  readonly #callIds = new Map<string, number>();
  readonly #open = new Map<string, { readonly unit: Unit; readonly call: OpenCall }>();
  readonly #late: LostContent[] = [];

  /** Adds a message, or omits it if it has no content. Gives a call a new id if an earlier call has the same id. */
  add(message: UserMessage | AssistantMessage, pieces: readonly Piece[]): void {
    if (message.content.length === 0) {
      for (const piece of pieces) this.omit(piece);
      return;
    }
    if (message.role === "user") this.#units.push({ message, pieces: [...pieces], calls: [] });
    else this.#addAssistant(message, pieces);
  }

  #addAssistant(message: AssistantMessage, pieces: readonly Piece[]): void {
    const given: string[] = [];
    const content = message.content.map((part): AssistantPart => {
      if (part.type !== "tool-call") return part;
      given.push(part.callId);
      return { ...part, callId: this.#toNewId(part.callId) };
    });
    const calls = content.flatMap((part) =>
      part.type === "tool-call" ? [{ callId: part.callId, name: part.name, result: undefined }] : [],
    );
    const unit = { message: { ...message, content }, pieces: [...pieces], calls };
    this.#units.push(unit);
    for (const [position, call] of calls.entries()) this.#open.set(given[position] ?? call.callId, { unit, call });
  }

  #toNewId(id: string): string {
    let fresh = id;
    // Continues from the last number used for this id, because a history may repeat the same id many times.
    let count = this.#callIds.get(id) ?? 1;
    while (this.#callIds.has(fresh)) {
      count += 1;
      fresh = `${id}-${count}`;
    }
    this.#callIds.set(id, count);
    if (fresh !== id) this.#callIds.set(fresh, 1);
    return fresh;
  }

  /** Adds a result to its call. Omits a result without a call. Pass no piece if the result is in the same piece as the call. */
  addResult(result: ReadResult, piece?: Piece): void {
    const open = this.#open.get(result.callId);
    this.#open.delete(result.callId);
    if (open === undefined) {
      if (piece !== undefined) this.omit(piece);
      return;
    }
    const { unit, call } = open;
    call.result = { ...result, callId: call.callId };
    if (piece === undefined) return;
    unit.pieces.push(piece);
    if (unit !== this.#units.at(-1)) this.note({ index: piece.index, field: piece.field, reason: "changed" });
  }

  /** Reports that content was lost. */
  note(lost: LostContent): void {
    this.#late.push(lost);
  }

  omit(piece: Piece): void {
    this.#stray.push(piece);
  }

  /**
   * Returns the transcript and the lost content. Finds lost content by converting each message back to the history's format and
   * comparing the two.
   */
  finish(write: PieceWriter | undefined, system = ""): ReadHistory {
    const units = this.#units.map((unit) => ({ pieces: unit.pieces, messages: toMessages(unit) }));
    const found = write === undefined ? [] : units.flatMap(({ pieces, messages }) => comparePieces(pieces, write(messages)));
    const strays = this.#stray.map(({ index, field }): LostContent => ({ index, field, reason: "omitted" }));
    const lost = [...found, ...this.#late, ...strays].sort((one, other) => one.index - other.index);
    return { messages: units.flatMap(({ messages }) => messages), ...(system === "" ? {} : { system }), lost };
  }
}

function toMessages({ message, calls }: Unit): readonly Message[] {
  if (calls.length === 0) return [message];
  return [message, { role: "tool", results: calls.map(({ callId, name, result }) => toResult({ callId, name }, result)) }];
}

function toResult(call: Pick<OpenCall, "callId" | "name">, result: ReadResult | undefined): ToolResultPart {
  if (result !== undefined) return { ...result, ...call };
  return { ...call, outcome: "not-run", result: renderOutcome({ call: { ...call, args: {} }, durationMs: 0, kind: "not-run" }) };
}

export function copyHistory(history: unknown): readonly UnknownRecord[] {
  if (!Array.isArray(history)) throw new LoopError("invalid-messages", { index: 0, problem: notList(history) });
  return history.map((item: unknown, index) => {
    const copy = copyItem(item, index);
    if (!isRecord(copy))
      throw new LoopError("invalid-messages", { index, problem: `must be an object, not ${describeValue(copy)}` });
    return copy;
  });
}

function notList(history: unknown): string {
  return `is missing: the history must be an array, not ${describeValue(history)}`;
}

function copyItem(item: unknown, index: number): unknown {
  try {
    return toJson(item);
  } catch (error) {
    throw new LoopError("invalid-messages", { index, problem: `cannot be written as JSON: ${toPlainError(error).message}` });
  }
}

/** Creates a reader for each message. */
export function readEach(messages: readonly object[]): readonly FieldReader[] {
  return messages.map((fields, index) => new FieldReader({ ...fields }, index));
}

/** Reads one message's fields. Errors name the message and the path of the invalid field. */
export class FieldReader {
  readonly fields: UnknownRecord;
  readonly #index: number;
  readonly #path: string;

  constructor(fields: UnknownRecord, index: number, path = "") {
    this.fields = fields;
    this.#index = index;
    this.#path = path;
  }

  get piece(): Piece {
    return { index: this.#index, field: this.#path, value: this.fields as Json };
  }

  #field(name: string): string {
    return this.#path === "" ? name : `${this.#path}.${name}`;
  }

  wrong(name: string, expected: string): LoopError<"invalid-messages"> {
    const received = describeValue(this.fields[name]);
    return new LoopError("invalid-messages", {
      index: this.#index,
      problem: `has an invalid field "${this.#field(name)}": it must be ${expected}, not ${received}`,
    });
  }

  text(name: string): string {
    const value = this.fields[name];
    if (typeof value !== "string") throw this.wrong(name, "a string");
    return value;
  }

  /** Returns a base64 string or a data URL. Refuses any other URL, because a service would fetch it. */
  base64(name: string): string {
    const value = this.filled(name);
    if (value.includes(":") && !/^data:/i.test(value)) throw this.wrong(name, "a base64 string or a data URL");
    return value;
  }

  filled(name: string): string {
    const value = this.text(name);
    if (value === "") throw this.wrong(name, "a non-empty string");
    return value;
  }

  optionalText(name: string): string {
    return this.fields[name] === undefined || this.fields[name] === null ? "" : this.text(name);
  }

  record(name: string): FieldReader {
    const value = this.fields[name];
    if (!isRecord(value)) throw this.wrong(name, "an object");
    return new FieldReader(value, this.#index, this.#field(name));
  }

  records(name: string): readonly FieldReader[] {
    const value = this.fields[name];
    if (value === undefined || value === null) return [];
    if (!Array.isArray(value)) throw this.wrong(name, "an array");
    return value.map((item: unknown, at) => {
      if (!isRecord(item))
        throw new FieldReader({ [`${name}[${at}]`]: item }, this.#index, this.#path).wrong(`${name}[${at}]`, "an object");
      return new FieldReader(item, this.#index, this.#field(`${name}[${at}]`));
    });
  }
}

/** Creates an image or file part. `data` is a URL, a data URL or base64 text. `mediaType` is used unless `data` is a data URL with a media type. */
export function toMediaPart(data: string, mediaType: string, filename?: unknown): ContentPart {
  const { mediaType: type } = locateMedia({ type: "file", mediaType, data });
  const name = typeof filename === "string" && filename.trim() !== "" ? { filename } : {};
  return { type: type.startsWith("image/") ? "image" : "file", mediaType: type, data, ...name };
}

export function toTextParts(text: string): readonly (ContentPart & { readonly type: "text" })[] {
  return text === "" ? [] : [{ type: "text", text }];
}

export function toReadResult(parts: readonly ContentPart[]): Pick<ReadResult, "result" | "content"> {
  const [first, ...rest] = parts;
  if (first?.type !== "text") return parts.length === 0 ? { result: "" } : { result: "", content: parts };
  return rest.length === 0 ? { result: first.text } : { result: first.text, content: rest };
}

/** Adds provider metadata only if the message would otherwise be written differently than in the history. */
export function addMetadata(
  message: AssistantMessage,
  metadata: ProviderMetadata,
  { pieces, write }: { readonly pieces: readonly Piece[]; readonly write: PieceWriter },
): AssistantMessage {
  const plain = write([message]);
  if (metadata.length === 0 || comparePieces(pieces, plain).length === 0) return message;
  const full = { ...message, providerMetadata: metadata };
  return isSameJson(plain, write([full])) ? message : full;
}
