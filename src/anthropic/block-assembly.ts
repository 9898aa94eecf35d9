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

export interface BlockAssembly {
  readonly size: number;
  readonly hasCalls: boolean;
  has(index: unknown): boolean;
  start(index: unknown, block: UnknownRecord): void;
  /** Returns false if the stream contradicts itself. The caller must then stop reading. */
  extend(index: unknown, delta: UnknownRecord): boolean;
  /**
   * Sends `call-ready` if the newest block is a call. Set `cut` if the model was stopped early: the call is then marked as
   * truncated.
   */
  settle(cut: boolean): void;
  /**
   * Returns the blocks for the next request. With `cut`, omits the final block if the service would reject the block as incomplete.
   */
  blocks(cut: boolean): readonly WireBlock[];
}

/** A call to a tool of the run, in the field `call` of its block. Blocks of tools that the server runs have no `call`. */
interface OpenCall {
  readonly key: string;
  /**
   * Receives the chunks of this call. `out` is a separate list if the call may repeat an earlier call, so that the chunks can be
   * discarded.
   */
  readonly out: ModelChunk[];
  ready: boolean;
  isRepeated: boolean;
}

interface OpenBlock {
  readonly fields: { [field: string]: Json };
  json: string;
  citations: Json[] | undefined;
  readonly call: OpenCall | undefined;
}

/**
 * Sends each delta as a chunk immediately, and keeps the blocks unchanged for the next request. The service closes every block,
 * even one that was cut off. A closed call may therefore be incomplete, so `call-ready` is sent only when the next block begins or
 * the stop reason is known.
 *
 * If the block of a text delta is missing or has another type, the delta begins a new block. No text is lost, and each block that
 * is sent back has only the fields of its type.
 */
export function createBlockAssembly(out: ModelChunk[]): BlockAssembly {
  const blocks: OpenBlock[] = [];
  const byIndex = new Map<unknown, OpenBlock>();
  const finished = new FinishedCalls<OpenCall>();
  let hasCalls = false;
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
    has: (index) => byIndex.has(index),
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

/** Some gateways send the start of a call twice. */
function isRepeated(block: OpenBlock | undefined, { type, id }: UnknownRecord): boolean {
  if (block?.call?.ready !== false || block.json !== "") return false;
  return type === "tool_use" && textOf(id) !== "" && id === block.fields.id;
}

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

/** Compares the ends of the types, because calls to server tools have the types "server_tool_use" and "mcp_tool_use". */
function fits(block: OpenBlock | undefined, delta: UnknownRecord): boolean {
  const type = blockType(delta);
  return block !== undefined && type !== undefined && textOf(block.fields.type).endsWith(type);
}

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
    // Deltas of these two types have complete values, which replace earlier values.
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
  // If code on the server made the call, the arguments arrive complete in `fields.input`, without deltas.
  const argsText =
    json === "" && isRecord(fields.input) && Object.keys(fields.input).length > 0 ? JSON.stringify(fields.input) : json;
  const [id, name] = [textOf(fields.id), textOf(fields.name)];
  call.isRepeated = finished.add(call, { id, name, argsText }) !== undefined;
  if (call.isRepeated) return;
  if (call.out !== out) for (const chunk of call.out) out.push(chunk);
  out.push({ type: "call-ready", key: call.key, id, name, ...endArguments(argsText, cut) });
}

/** Omits blocks that the service would reject: cut-off thinking without a signature, and server calls with incomplete input. */
function toWireBlock({ fields, json, call }: OpenBlock, cut: boolean): readonly WireBlock[] {
  const { type } = fields;
  if (typeof type !== "string" || call?.isRepeated === true) return [];
  if (cut && type === "thinking" && textOf(fields.signature) === "") return [];
  if (json.trim() === "") return [{ ...fields, type }];
  const input = readInput(json);
  if (input !== undefined) return [{ ...fields, type, input }];
  return call === undefined ? [] : [{ ...fields, type, input: { [invalidJsonKey]: json } }];
}

/** Provider metadata wraps the input of a call in this many levels, so the depth limit of the input is lower by this number. */
const levelsAround = 4;

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
