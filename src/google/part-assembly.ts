import {
  copyFields,
  endArguments,
  filledOrNone,
  FinishedCalls,
  isRecord,
  type Json,
  type ModelChunk,
  setField,
  textOf,
  toJson,
  type UnknownRecord,
} from "../core/provider-kit.ts";
import type { WirePart } from "./generate-options.ts";
import { createPartialArguments, type PartialArguments } from "./partial-arguments.ts";

export interface PartAssembly {
  readonly hasCalls: boolean;
  add(part: UnknownRecord): void;
  settle(): void;
  parts(): readonly WirePart[];
}

/**
 * A text part that further parts may continue. A text with a signature is never joined with others, because the signature covers
 * only that text.
 */
interface OpenText {
  text: string;
  readonly isThought: boolean;
}

interface OpenCall {
  readonly key: string;
  readonly id: string | undefined;
  readonly name: string;
  readonly args: PartialArguments;
  readonly part: { [field: string]: Json };
  readonly call: { [field: string]: Json };
  whole: string | undefined;
  inPieces: boolean;
  /**
   * Receives the chunks of this call. `out` is a separate list if the call may repeat an earlier call, so that the chunks can be
   * discarded.
   */
  out: ModelChunk[];
  isRepeated: boolean;
}

type KeptPart = { readonly text: OpenText } | { readonly call: OpenCall } | { readonly fields: WirePart };

interface Assembly {
  readonly out: ModelChunk[];
  readonly kept: KeptPart[];
  readonly finished: FinishedCalls<OpenCall>;
  calls: number;
  open: OpenCall | undefined;
}

/**
 * Sends each part as chunks immediately, and keeps the parts unchanged for the next request. A call usually arrives complete in one
 * part. Vertex AI may stream a call as several parts: the first has the name and `willContinue`, further parts have `partialArgs`,
 * and the final part has no `willContinue`.
 */
export function createPartAssembly(out: ModelChunk[]): PartAssembly {
  const assembly: Assembly = { out, kept: [], finished: new FinishedCalls(), calls: 0, open: undefined };
  return {
    get hasCalls() {
      return assembly.calls > 0;
    },
    add(part) {
      if (isRecord(part.functionCall)) addCall(part, part.functionCall, assembly);
      else if (typeof part.text === "string") addText(part, part.text, assembly);
      else assembly.kept.push({ fields: copyFields(part) });
    },
    settle: () => closeCall(assembly, false),
    parts: () => assembly.kept.filter((part) => !("call" in part && part.call.isRepeated)).map(toWirePart),
  };
}

function addText(part: UnknownRecord, text: string, { out, kept }: Assembly): void {
  const isThought = part.thought === true;
  if (text !== "") out.push({ type: isThought ? "reasoning-delta" : "text-delta", text });
  if (!isPlain(part)) {
    kept.push({ fields: copyFields(part) });
    return;
  }
  // An empty text is not kept, because Vertex AI would reject it in the next request.
  if (text === "") return;
  const last = kept[kept.length - 1];
  if (last !== undefined && "text" in last && last.text.isThought === isThought) last.text.text += text;
  else kept.push({ text: { text, isThought } });
}

function isPlain(part: UnknownRecord): boolean {
  for (const field in part) if (field !== "text" && field !== "thought") return false;
  return true;
}

function addCall(part: UnknownRecord, call: UnknownRecord, assembly: Assembly): void {
  const { open } = assembly;
  const id = filledOrNone(call.id);
  if (open !== undefined && (textOf(call.name) === "" || (id !== undefined && id === open.id))) {
    addMissing(open.part, part);
    extendCall(call, open, assembly);
    return;
  }
  // Another call begins, so the open call will get no more arguments.
  closeCall(assembly, false);
  // An empty call only marks the end of the previous call.
  if (Object.keys(call).length > 0) extendCall(call, startCall(part, call, assembly), assembly);
}

function startCall(part: UnknownRecord, call: UnknownRecord, assembly: Assembly): OpenCall {
  const key = `call-${assembly.calls}`;
  const id = filledOrNone(call.id);
  const name = textOf(call.name);
  const { functionCall: _call, ...fields } = part;
  const { args: _args, partialArgs: _pieces, willContinue: _goesOn, ...callFields } = call;
  const kept = { part: copyFields(fields), call: copyFields(callFields) };
  const out = assembly.finished.hasId(id) ? [] : assembly.out;
  const begun = { whole: undefined, inPieces: false, out, isRepeated: false };
  const open: OpenCall = { key, id, name, args: createPartialArguments(), ...kept, ...begun };
  assembly.calls += 1;
  assembly.open = open;
  assembly.kept.push({ call: open });
  out.push({ type: "call-start", key, id, name });
  return open;
}

/** Adds fields of `later` that `fields` lacks, such as a signature that arrives with a later part of the call. */
function addMissing(fields: OpenCall["part"], { functionCall: _, ...later }: UnknownRecord): void {
  for (const [field, value] of Object.entries(copyFields(later)))
    if (!Object.hasOwn(fields, field)) setField(fields, field, value);
}

function extendCall(call: UnknownRecord, open: OpenCall, assembly: Assembly): void {
  if (call.args !== undefined && call.args !== null) open.whole = writeArguments(call.args);
  if (call.willContinue === true) open.inPieces = true;
  if (Array.isArray(call.partialArgs)) {
    open.inPieces = true;
    const text = call.partialArgs.map((entry) => open.args.add(entry)).join("");
    if (text !== "") open.out.push({ type: "call-args-delta", key: open.key, text });
  }
  if (call.willContinue !== true) closeCall(assembly, true);
}

function closeCall(assembly: Assembly, isComplete: boolean): void {
  const { open } = assembly;
  if (open === undefined) return;
  assembly.open = undefined;
  const { key, id, name, whole, args, out } = open;
  const problem = (whole === undefined ? args.problem : undefined) ?? (isComplete ? undefined : "truncated");
  const argsText = whole ?? args.toText();
  if (problem === undefined) {
    const first = assembly.finished.add(open, { id, name, argsText });
    open.isRepeated = first !== undefined;
    if (first !== undefined) return addMissing(first.part, open.part);
    out.push({ type: "call-args-delta", key, text: restOf(open) });
  }
  const ended = endArguments(argsText, problem === "truncated");
  out.push({ type: "call-ready", key, id, name, ...ended, problem: problem ?? ended.problem });
  if (out !== assembly.out) for (const chunk of out) assembly.out.push(chunk);
}

function restOf({ whole, args, inPieces }: OpenCall): string {
  if (whole === undefined) return args.end();
  return inPieces ? "" : whole;
}

function toWirePart(kept: KeptPart): WirePart {
  if ("fields" in kept) return kept.fields;
  if ("text" in kept) return kept.text.isThought ? { text: kept.text.text, thought: true } : { text: kept.text.text };
  const { call, whole, args, inPieces, part } = kept.call;
  const said = whole ?? (inPieces ? args.toText() : undefined);
  const given: { readonly args?: Json } = said === undefined ? {} : { args: readArguments(said) };
  return { ...part, functionCall: { ...call, ...given } };
}

/**
 * Writes arguments as JSON. Returns "{", which counts as malformed, if the arguments are nested too deeply for `JSON.stringify`.
 */
function writeArguments(args: unknown): string {
  try {
    return JSON.stringify(args);
  } catch {
    return "{";
  }
}

/**
 * Provider metadata wraps the arguments of a call in this many levels, so the depth limit of the arguments is lower by this number.
 */
const levelsAround = 5;

/** Arguments that are nested too deeply are kept as text in an object, because the API requires an object. */
function readArguments(text: string): Json {
  try {
    return toJson(JSON.parse(text), -levelsAround);
  } catch {
    return { INVALID_ARGUMENTS: text };
  }
}
