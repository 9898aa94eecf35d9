import {
  copyFields,
  encodeBase64,
  endArguments,
  FinishedCalls,
  isRecord,
  type Json,
  type ModelChunk,
  parseToolArguments,
  textOf,
  toArgumentsObject,
  toJson,
  type UnknownRecord,
} from "../core/provider-kit.ts";
import type { MessagePart } from "./model-options.ts";

export function toFilePart({ type, mediaType, data }: UnknownRecord): MessagePart | undefined {
  const place = toPlace(
    isRecord(data) && !(data instanceof Uint8Array) && !(data instanceof URL) ? (data.data ?? data.url) : data,
  );
  return place === undefined ? undefined : { type: textOf(type), mediaType: textOf(mediaType), ...place };
}

function toPlace(data: unknown): { readonly [field: string]: Json } | undefined {
  if (data instanceof Uint8Array) return { data: encodeBase64(data) };
  if (data instanceof URL) return { url: data.href };
  if (typeof data !== "string" || data === "") return undefined;
  return /^https?:/i.test(data) ? { url: data } : { data };
}

export interface MessageParts {
  /** Begins a new text, even if a text with this id exists. */
  start(type: "text" | "reasoning", id: unknown, metadata: unknown): void;
  /** Adds a piece to the text with this id. If no text has this id, begins a new text, so that no piece is lost. */
  extend(type: "text" | "reasoning", id: unknown, more: { readonly text: string; readonly metadata: unknown }): void;
  end(type: "text" | "reasoning", id: unknown, metadata: unknown): void;
  add(part: MessagePart, metadata: unknown): void;
  all(): readonly MessagePart[];
}

interface PartDraft {
  readonly part: MessagePart;
  text: string | undefined;
  /** The newest metadata of this part. To save work, the metadata is copied when the message is finished, not for each event. */
  metadata: unknown;
}

export function createMessageParts(): MessageParts {
  const drafts: PartDraft[] = [];
  const open = { text: new Map<unknown, PartDraft>(), reasoning: new Map<unknown, PartDraft>() };

  function start(type: "text" | "reasoning", id: unknown, metadata: unknown): PartDraft {
    const draft: PartDraft = { part: { type }, text: "", metadata };
    drafts.push(draft);
    open[type].set(id, draft);
    return draft;
  }

  return {
    start,
    extend(type, id, { text, metadata }) {
      const draft = open[type].get(id) ?? start(type, id, undefined);
      draft.text += text;
      if (isRecord(metadata)) draft.metadata = metadata;
    },
    end(type, id, metadata) {
      const draft = open[type].get(id);
      if (draft !== undefined && isRecord(metadata)) draft.metadata = metadata;
    },
    add: (part, metadata) => drafts.push({ part, text: undefined, metadata }),
    all: () =>
      drafts.map(toPart).filter((part) => part.type !== "text" || part.text !== "" || part.providerOptions !== undefined),
  };
}

function toPart({ part, text, metadata }: PartDraft): MessagePart {
  return {
    ...part,
    ...(text === undefined ? {} : { text }),
    ...(isRecord(metadata) ? { providerOptions: copyFields(metadata) } : {}),
  };
}

interface CallPorts {
  readonly out: ModelChunk[];
  readonly parts: MessageParts;
  readonly names: ReadonlySet<string>;
}

interface ServiceCall {
  readonly toolName: string;
  readonly input: Json;
}

interface OpenCall {
  readonly key: string;
  readonly id: string;
  readonly name: string;
  readonly isStreamed: boolean;
  argsText: string;
}

export class MessageCalls {
  readonly #ports: CallPorts;
  readonly #open = new Map<unknown, OpenCall>();
  readonly #ofService = new Map<unknown, ServiceCall>();
  readonly #taken = new FinishedCalls<object>();
  #begun = 0;
  hasOwn = false;

  constructor(ports: CallPorts) {
    this.#ports = ports;
  }

  /**
   * Streams a call only if the call names a tool of the run. The service may run any other call itself, and chunks that were sent
   * cannot be withdrawn.
   */
  startInput({ id, toolName, providerExecuted, inputEncoding }: UnknownRecord): void {
    // A start with a known id is ignored. The package sends calls that the service runs again when they are complete.
    if (providerExecuted === true || this.#open.has(id)) return;
    const { out, names } = this.#ports;
    const name = textOf(toolName);
    const call = this.#begin(id, name, names.has(name) && inputEncoding !== "text" && !this.#taken.hasId(textOf(id)));
    this.#open.set(id, call);
    if (call.isStreamed) out.push({ type: "call-start", key: call.key, id: call.id, name });
  }

  extendInput({ id, delta }: UnknownRecord): void {
    const call = this.#open.get(id);
    const text = textOf(delta);
    if (call === undefined || text === "") return;
    call.argsText += text;
    if (call.isStreamed) this.#ports.out.push({ type: "call-args-delta", key: call.key, text });
  }

  take(said: UnknownRecord): void {
    const { toolCallId, providerMetadata } = said;
    const argsText = typeof said.input === "string" ? said.input : JSON.stringify(said.input ?? {});
    const part = { type: "tool-call", toolCallId: textOf(toolCallId), toolName: textOf(said.toolName) };
    const call = this.#open.get(toolCallId);
    this.#open.delete(toolCallId);
    if (said.providerExecuted === true) {
      const input = readInput(argsText);
      this.#ofService.set(toolCallId, { toolName: part.toolName, input });
      this.#ports.parts.add({ ...part, input, providerExecuted: true }, providerMetadata);
      return;
    }
    if (this.#taken.add(part, { id: part.toolCallId, name: part.toolName, argsText }) !== undefined) return;
    const { key, id } = call ?? this.#begin(toolCallId, part.toolName, false);
    this.#declareReady({ key, id, name: part.toolName }, argsText, false);
    this.#ports.parts.add({ ...part, input: toInput(argsText) }, providerMetadata);
  }

  ofService(id: unknown): ServiceCall | undefined {
    return this.#ofService.get(id);
  }

  settle(): void {
    for (const call of this.#open.values()) {
      const { id, name, argsText } = call;
      this.#declareReady(call, argsText, true);
      this.#ports.parts.add({ type: "tool-call", toolCallId: id, toolName: name, input: toInput(argsText) }, undefined);
    }
    this.#open.clear();
  }

  #begin(id: unknown, name: string, isStreamed: boolean): OpenCall {
    const key = `call-${this.#begun}`;
    this.#begun += 1;
    return { key, id: textOf(id), name, isStreamed, argsText: "" };
  }

  #declareReady({ key, id, name }: Pick<OpenCall, "key" | "id" | "name">, argsText: string, isCut: boolean): void {
    this.#ports.out.push({ type: "call-ready", key, id, name, ...endArguments(argsText, isCut) });
    this.hasOwn = true;
  }
}

function toInput(argsText: string): Json {
  const input = readInput(argsText);
  return isRecord(input) ? input : toArgumentsObject(argsText);
}

/** Provider metadata wraps the input of a call in this many levels, so the depth limit of the input is lower by this number. */
const levelsAround = 4;

/** Input that is not JSON, or is nested too deeply, stays a string. */
function readInput(argsText: string): Json {
  try {
    const parsed = parseToolArguments(argsText);
    return "args" in parsed ? toJson(parsed.args, -levelsAround) : argsText;
  } catch {
    return argsText;
  }
}
