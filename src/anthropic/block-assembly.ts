// Assembles content blocks from their deltas. Sends each delta as a chunk immediately, and keeps the blocks unchanged for the next
// request.

import {
  copyFields,
  endArguments,
  FinishedCalls,
  isRecord,
  type Json,
  type ModelChunk,
  parseToolArguments,
  providerError,
  setField,
  textOf,
  toJson,
  type UnknownRecord,
} from "../core/provider-kit.ts";
import type { WireBlock } from "./messages-options.ts";
import { invalidJsonKey } from "./provider-metadata.ts";

/** Collects the content blocks of one stream. */
export interface BlockAssembly {
  /** The number of blocks so far. */
  readonly size: number;
  /** True if at least one block calls a tool of the run. */
  readonly hasCalls: boolean;
  /** Begins a block. The previous block is then complete. */
  start(index: unknown, block: UnknownRecord): void;
  /** Adds a delta. Returns false if the stream contradicts itself, so that reading must stop. */
  extend(index: unknown, delta: UnknownRecord): boolean;
  /** Marks all remaining calls as ready. `cut` means that the model was stopped early, so the last call may be incomplete. */
  settle(cut: boolean): void;
  /** Returns the blocks to send back. `cut` omits blocks that the service would reject because they were cut off. */
  blocks(cut: boolean): readonly WireBlock[];
}

/** A call of a tool of the run, not of a tool that the server runs. */
interface OpenCall {
  readonly key: string;
  /** Receives the chunks of this call. A separate list if the call may turn out to repeat another call. */
  readonly out: ModelChunk[];
  ready: boolean;
  /** True if this call repeats another call and is omitted. */
  isRepeated: boolean;
}

interface OpenBlock {
  readonly fields: { [field: string]: Json };
  /** The JSON text of the block's input so far, which arrives in fragments. */
  json: string;
  /** The citations that arrived as deltas. Undefined if there were none. */
  citations: Json[] | undefined;
  readonly call: OpenCall | undefined;
}

/**
 * Makes an assembly that appends its chunks to `out`.
 *
 * The service closes every block, even one that was cut off, so a closed block may be incomplete. `call-ready` is therefore sent
 * when the next block begins, or when the stop reason is known.
 *
 * A text delta without a block, or for a block with another type, begins a new block. In this way no text is lost, and no block is
 * sent back with fields that its type does not have.
 */
export function createBlockAssembly(out: ModelChunk[]): BlockAssembly {
  const blocks: OpenBlock[] = [];
  /** The latest block with each index. */
  const byIndex = new Map<unknown, OpenBlock>();
  const finished = new FinishedCalls<OpenCall>();
  let hasCalls = false;
  /** Settles the last block. Every earlier block was complete when the next block began. */
  const settle = (cut: boolean): void => {
    const { call, fields, json } = blocks[blocks.length - 1] ?? {};
    if (call?.ready === false && fields !== undefined) declareReady(call, { out, finished, fields, json: json ?? "", cut });
  };
  const start = (index: unknown, block: UnknownRecord): void => {
    if (isRepeated(byIndex.get(index), block)) return;
    settle(false);
    const fields = copyFields(block);
    const call = fields.type === "tool_use" ? createCall(blocks.length, finished.hasId(textOf(fields.id)) ? [] : out) : undefined;
    const begun: OpenBlock = { fields, json: "", citations: undefined, call };
    hasCalls ||= call !== undefined;
    blocks.push(begun);
    byIndex.set(index, begun);
    announce(fields, call, out);
  };
  return {
    get size() {
      return blocks.length;
    },
    get hasCalls() {
      return hasCalls;
    },
    start,
    extend(index, delta) {
      if (!fits(byIndex.get(index), delta)) {
        if (delta.type !== "text_delta" && delta.type !== "thinking_delta") return true;
        start(index, { type: blockType(delta) });
      }
      const block = byIndex.get(index);
      return block === undefined || extendBlock(block, delta, out);
    },
    settle,
    blocks: (cut) => blocks.flatMap((block, position) => toWireBlock(block, cut && position === blocks.length - 1)),
  };
}

function createCall(position: number, out: ModelChunk[]): OpenCall {
  return { key: `block-${position}`, out, ready: false, isRepeated: false };
}

/** True if a block repeats the call that has just begun. Some gateways send the start of a call twice. */
function isRepeated(block: OpenBlock | undefined, { type, id }: UnknownRecord): boolean {
  if (block?.call?.ready !== false || block.json !== "") return false;
  return type === "tool_use" && textOf(id) !== "" && id === block.fields.id;
}

/** Returns the block type that a delta belongs to. */
function blockType({ type }: UnknownRecord): string | undefined {
  switch (type) {
    case "text_delta":
    case "citations_delta":
      return "text";
    case "thinking_delta":
    case "signature_delta":
      return "thinking";
    case "compaction_delta":
      return "compaction";
    case "input_json_delta":
      return "tool_use";
    default:
      return undefined;
  }
}

/** True if a delta fits the type of a block. Input deltas also fit calls that the server runs: "server_tool_use", "mcp_tool_use". */
function fits(block: OpenBlock | undefined, delta: UnknownRecord): boolean {
  const type = blockType(delta);
  return block !== undefined && type !== undefined && textOf(block.fields.type).endsWith(type);
}

/** Sends the content that the start of a block contains. */
function announce(fields: OpenBlock["fields"], call: OpenCall | undefined, out: ModelChunk[]): void {
  if (call !== undefined) call.out.push({ type: "call-start", key: call.key, id: textOf(fields.id), name: textOf(fields.name) });
  else if (fields.type === "text") pushText(out, "text-delta", textOf(fields.text));
  else if (fields.type === "thinking") pushText(out, "reasoning-delta", textOf(fields.thinking));
}

function extendBlock(block: OpenBlock, delta: UnknownRecord, out: ModelChunk[]): boolean {
  if (delta.type === "input_json_delta") return extendInput(block, textOf(delta.partial_json), out);
  extendFields(block, delta, out);
  return true;
}

function extendFields(block: OpenBlock, delta: UnknownRecord, out: ModelChunk[]): void {
  const { fields } = block;
  switch (delta.type) {
    case "text_delta":
      append(fields, "text", delta.text);
      return pushText(out, "text-delta", textOf(delta.text));
    case "thinking_delta":
      append(fields, "thinking", delta.thinking);
      return pushText(out, "reasoning-delta", textOf(delta.thinking));
    case "citations_delta":
      block.citations ??= Array.isArray(fields.citations) ? [...fields.citations] : [];
      block.citations.push(copyJson(delta.citation));
      fields.citations = block.citations;
      return;
    // The values in these two deltas are complete and replace earlier values.
    case "signature_delta":
    case "compaction_delta":
      for (const [field, value] of Object.entries(copyFields(delta))) if (field !== "type") setField(fields, field, value);
      return;
    default:
      return;
  }
}

function append(fields: OpenBlock["fields"], field: string, text: unknown): void {
  fields[field] = textOf(fields[field]) + textOf(text);
}

function extendInput(block: OpenBlock, text: string, out: ModelChunk[]): boolean {
  const { call } = block;
  if (text === "") return true;
  if (call?.ready === true) {
    const message = "The service added arguments to a call after the call was complete.";
    out.push({ type: "error", error: providerError("server", message) });
    return false;
  }
  block.json += text;
  if (call !== undefined) call.out.push({ type: "call-args-delta", key: call.key, text });
  return true;
}

interface Readiness {
  readonly out: ModelChunk[];
  readonly finished: FinishedCalls<OpenCall>;
  readonly fields: OpenBlock["fields"];
  readonly json: string;
  readonly cut: boolean;
}

function declareReady(call: OpenCall, { out, finished, fields, json, cut }: Readiness): void {
  call.ready = true;
  // Calls made by code on the server arrive complete, without deltas.
  const argsText =
    json === "" && isRecord(fields.input) && Object.keys(fields.input).length > 0 ? JSON.stringify(fields.input) : json;
  const [id, name] = [textOf(fields.id), textOf(fields.name)];
  call.isRepeated = finished.add(call, { id, name, argsText }) !== undefined;
  if (call.isRepeated) return;
  if (call.out !== out) for (const chunk of call.out) out.push(chunk);
  out.push({ type: "call-ready", key: call.key, id, name, ...endArguments(argsText, cut) });
}

/**
 * Converts a block for the next request. Omits a block that the service would reject because it was cut off: thinking without a
 * signature, or a tool call of the server with incomplete input.
 */
function toWireBlock({ fields, json, call }: OpenBlock, cut: boolean): readonly WireBlock[] {
  const { type } = fields;
  if (typeof type !== "string" || call?.isRepeated === true) return [];
  if (cut && type === "thinking" && textOf(fields.signature) === "") return [];
  if (json.trim() === "") return [{ ...fields, type }];
  const input = readInput(json);
  if (input !== undefined) return [{ ...fields, type, input }];
  return call === undefined ? [] : [{ ...fields, type, input: { [invalidJsonKey]: json } }];
}

/** The nesting levels that a recorded block adds. The limit for the input is lowered by them, so that the whole block stays valid. */
const levelsAround = 4;

/** Parses the input of a call. Returns undefined for input that is not an object or is nested too deeply. */
function readInput(json: string): Json | undefined {
  try {
    const parsed = parseToolArguments(json);
    return "args" in parsed && isRecord(parsed.args) ? toJson(parsed.args, -levelsAround) : undefined;
  } catch {
    return undefined;
  }
}

function copyJson(value: unknown): Json {
  const copy: Json = JSON.parse(JSON.stringify(value ?? null));
  return copy;
}

function pushText(out: ModelChunk[], type: "text-delta" | "reasoning-delta", text: string): void {
  if (text !== "") out.push({ type, text });
}
