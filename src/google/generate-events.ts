import { Answer, createEventReader, isCleanEnd } from "../shared/adapters/read-answer.ts";
import { countOf, type EventReader, isRecord, listOf, recordOf, textOf, usageOf } from "../core/kit.ts";
import type { EventTail } from "../shared/adapters/event-filter.ts";
import type { FinishReason, Json, ModelChunk, Usage } from "../core/index.ts";
import { type FinishWords, meaningOf } from "../shared/judge-finish.ts";
import { setField, type UnknownRecord } from "../shared/guards.ts";
import { copyFields, filledOrNone } from "../shared/plain-error.ts";
import { StreamedCall, StreamedCalls } from "../shared/adapters/streamed-calls.ts";
import { endArguments } from "../shared/tool-arguments.ts";
import { toJson } from "../shared/json.ts";
import { toMetadataItems } from "./provider-metadata.ts";
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

class GoogleCall extends StreamedCall {
  readonly args: PartialArguments = createPartialArguments();
  readonly part: { [field: string]: Json };
  readonly call: { [field: string]: Json };
  whole: string | undefined;
  inPieces = false;

  constructor(assembly: Assembly, { functionCall: _call, ...fields }: UnknownRecord, call: UnknownRecord) {
    super(assembly.streamed, `call-${assembly.calls}`, { id: filledOrNone(call.id), name: textOf(call.name) });
    const { args: _args, partialArgs: _pieces, willContinue: _goesOn, ...callFields } = call;
    this.part = copyFields(fields);
    this.call = copyFields(callFields);
  }
}

type KeptPart = { readonly text: OpenText } | { readonly call: GoogleCall } | { readonly fields: WirePart };

interface Assembly {
  readonly out: ModelChunk[];
  readonly kept: KeptPart[];
  readonly streamed: StreamedCalls;
  calls: number;
  open: GoogleCall | undefined;
}

/**
 * Sends each part as chunks immediately, and keeps the parts unchanged for the next request. A call usually arrives complete in one
 * part. Vertex AI may stream a call as several parts: the first has the name and `willContinue`, further parts have `partialArgs`,
 * and the final part has no `willContinue`.
 */
function createPartAssembly(out: ModelChunk[]): PartAssembly {
  const assembly: Assembly = { out, kept: [], streamed: new StreamedCalls(out), calls: 0, open: undefined };
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
    parts: () => assembly.kept.filter((part) => !("call" in part && part.call.first !== undefined)).map(toWirePart),
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

function startCall(part: UnknownRecord, call: UnknownRecord, assembly: Assembly): GoogleCall {
  const open = new GoogleCall(assembly, part, call);
  assembly.calls += 1;
  assembly.open = open;
  assembly.kept.push({ call: open });
  open.announce();
  return open;
}

/** Adds fields of `later` that `fields` lacks, such as a signature that arrives with a later part of the call. */
function addMissing(fields: GoogleCall["part"], { functionCall: _, ...later }: UnknownRecord): void {
  for (const [field, value] of Object.entries(copyFields(later)))
    if (!Object.hasOwn(fields, field)) setField(fields, field, value);
}

function extendCall(call: UnknownRecord, open: GoogleCall, assembly: Assembly): void {
  if (call.args !== undefined && call.args !== null) open.whole = writeArguments(call.args);
  if (call.willContinue === true) open.inPieces = true;
  if (Array.isArray(call.partialArgs)) {
    open.inPieces = true;
    open.extend(call.partialArgs.map((entry) => open.args.add(entry)).join(""));
  }
  if (call.willContinue !== true) closeCall(assembly, true);
}

function closeCall(assembly: Assembly, isComplete: boolean): void {
  const { open } = assembly;
  if (open === undefined) return;
  assembly.open = undefined;
  const { whole, args } = open;
  const problem = (whole === undefined ? args.problem : undefined) ?? (isComplete ? undefined : "truncated");
  const argsText = whole ?? args.toText();
  if (problem === undefined) open.complete(argsText);
  const ended = endArguments(argsText, problem === "truncated");
  open.end({ ...ended, problem: problem ?? ended.problem });
  if (open.first instanceof GoogleCall) addMissing(open.first.part, open.part);
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

/** The finish reasons that only this service has. Those that are listed nowhere, such as FINISH_REASON_UNSPECIFIED, become "unknown". */
export const generateWords: FinishWords = new Map<string, FinishReason>([
  ["OTHER", "error"],
  ["CONTINUATION", "continue"],
]);

interface FinishedMessage {
  readonly hasCalls: boolean;
  readonly hasToken: boolean;
}

/** The service also sends STOP for an answer with calls. "continue" without a continuation token becomes "length", because the answer is cut off. */
export function toFinishReason(
  raw: string,
  { hasCalls, hasToken }: FinishedMessage,
  words: FinishWords = generateWords,
): FinishReason {
  const reason = meaningOf(raw, words);
  if (reason === "continue" && !hasToken) return "length";
  return reason === "stop" && hasCalls ? "tool-calls" : reason;
}

export function isKept(reason: FinishReason): boolean {
  return isCleanEnd(reason) || reason === "length" || reason === "continue";
}

interface UsageCounts {
  add(metadata: unknown): Usage | undefined;
}

const fields = [
  "promptTokenCount",
  "toolUsePromptTokenCount",
  "cachedContentTokenCount",
  "candidatesTokenCount",
  "thoughtsTokenCount",
] as const;

type Counts = { [Field in (typeof fields)[number]]?: number };

/**
 * Each `usageMetadata` object contains totals for the stream so far. If a count is missing, its earlier value is kept, because
 * Vertex AI sends objects without counts in the middle of a stream. Prompt counts include cached tokens, but not the input of tools
 * that the service runs. Candidate counts exclude thoughts.
 */
export function countUsage(): UsageCounts {
  const counts: Counts = {};
  return {
    add(metadata) {
      if (!isRecord(metadata)) return undefined;
      let isSaid = false;
      for (const field of fields) {
        const count = countOf(metadata[field]);
        if (count === undefined) continue;
        counts[field] = count;
        isSaid = true;
      }
      return isSaid ? toUsage(counts, countOf(metadata.totalTokenCount) ?? 0) : undefined;
    },
  };
}

/**
 * The reported `total` may leave out a count from an earlier chunk. `usageOf` therefore raises a `total` that is less than the sum
 * of the counts.
 */
function toUsage(counts: Counts, total: number): Usage | undefined {
  const { promptTokenCount: prompt, candidatesTokenCount: candidates, thoughtsTokenCount: thoughts } = counts;
  if (prompt === undefined && candidates === undefined && thoughts === undefined) return undefined;
  return usageOf({
    input: (prompt ?? 0) + (counts.toolUsePromptTokenCount ?? 0),
    output: (candidates ?? 0) + (thoughts ?? 0),
    total,
    cached: counts.cachedContentTokenCount,
    reasoning: thoughts,
  });
}

interface Reading {
  readonly answer: Answer;
  readonly parts: PartAssembly;
  readonly usage: UsageCounts;
  hasBegun: boolean;
  /** True while the service runs code. The result of the code and more text then follow, even after a finish reason. */
  runsCode: boolean;
  token: string;
}

/**
 * Only the first candidate is read. Parts of unknown kinds are kept and sent back. A continuation token is used only if the
 * finish reason requests a continuation. The service also sends such tokens during the stream, so that clients can resume after a
 * lost connection.
 */
export function createGenerateReader(out: ModelChunk[], words: FinishWords = generateWords, tail?: EventTail): EventReader {
  const answer = new Answer(out, words);
  const reading: Reading = {
    answer,
    parts: createPartAssembly(out),
    usage: countUsage(),
    hasBegun: false,
    runsCode: false,
    token: "",
  };
  return createEventReader(answer, {
    // The SDK throws at `data: [DONE]`, with which some gateways end the stream (github.com/google-gemini/gemini-cli/issues/16162).
    mayGoOn: () => !answer.isOver && tail?.isDone !== true,
    read: (chunk) => readChunk(chunk, reading),
    end() {
      for (const held of answer.ids.rest()) takeChunk(held, reading);
      endReading(reading);
    },
  });
}

function readChunk(chunk: UnknownRecord, reading: Reading): void {
  const { answer, hasBegun } = reading;
  const { error, candidates, responseId: id } = chunk;
  // The SDK usually throws the errors of the service. Some SDK versions and clients yield these errors as chunks instead.
  if (error !== undefined && error !== null) return answer.fail(error);
  const answers = listOf(candidates).filter(isFirst).map(recordOf);
  const contents = answers.map(({ content }) => recordOf(content));
  const saysRole = contents.some(({ role }) => textOf(role) !== "");
  const hasContent = contents.some(({ parts }) => listOf(parts).length > 0);
  const isLast = answers.some(({ finishReason }) => textOf(finishReason) !== "");
  const chunks = answer.ids.sort(chunk, { id, saysRole, hasContent, isLast, hasBegun });
  if (chunks === undefined) return answer.leave();
  for (const next of chunks) takeChunk(next, reading);
}

function takeChunk({ candidates, promptFeedback, usageMetadata }: UnknownRecord, reading: Reading): void {
  for (const candidate of listOf(candidates).filter(isFirst)) readCandidate(recordOf(candidate), reading);
  if (isRecord(promptFeedback)) readFeedback(promptFeedback, reading);
  reading.answer.count(reading.usage.add(usageMetadata));
}

/**
 * Further candidates arrive only if the caller requests them. The index of a candidate without the field `index` is its position in
 * the list.
 */
function isFirst(candidate: unknown, place: number): boolean {
  const { index } = recordOf(candidate);
  return (typeof index === "number" ? index : place) === 0;
}

function readCandidate({ content, finishReason, finishMessage, continuationToken }: UnknownRecord, reading: Reading): void {
  reading.runsCode = false;
  for (const part of listOf(recordOf(content).parts)) readPart(part, reading);
  if (textOf(continuationToken) !== "") reading.token = textOf(continuationToken);
  const { answer } = reading;
  const raw = textOf(finishReason);
  if (raw === "" || (reading.runsCode && isCleanEnd(answer.reasonOf(raw)))) return;
  answer.explanation = textOf(finishMessage).trim();
  answer.stop(raw);
  reading.parts.settle();
}

function readPart(part: unknown, reading: Reading): void {
  if (!isRecord(part)) return;
  reading.hasBegun = true;
  if (part.thought !== true) reading.answer.watchText(textOf(part.text));
  readCode(part, reading);
  reading.parts.add(part);
}

/** Drops a normal finish reason when the service runs code, because more content follows. */
function readCode({ executableCode, codeExecutionResult }: UnknownRecord, reading: Reading): void {
  if (!isRecord(executableCode) && !isRecord(codeExecutionResult)) return;
  reading.runsCode = isRecord(executableCode);
  const { answer } = reading;
  if (answer.finish !== undefined && isCleanEnd(answer.finish.reason)) answer.finish = undefined;
}

function readFeedback({ blockReason, blockReasonMessage }: UnknownRecord, { answer }: Reading): void {
  if (typeof blockReason !== "string" || blockReason === "" || /^BLOCK(?:ED)?_REASON_UNSPECIFIED$/.test(blockReason)) return;
  answer.finish = { raw: blockReason, reason: "content-filter" };
  answer.isOver = true;
  answer.explanation = textOf(blockReasonMessage).trim();
}

function endReading({ answer, parts, token }: Reading): void {
  const { finish, words, failed, out } = answer;
  if (finish === undefined || failed) return;
  const { raw } = finish;
  const message = { hasCalls: parts.hasCalls, hasToken: token !== "" };
  const reason = finish.reason === "content-filter" ? finish.reason : toFinishReason(raw, message, words);
  if (reason === "content-filter") answer.explain();
  if (isKept(reason)) answer.keep(toMetadataItems(parts.parts()));
  out.push({ type: "finish", reason, raw, ...(reason === "continue" ? { token } : {}) });
}
