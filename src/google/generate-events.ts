import { Answer, createEventReader, isCleanEnd } from "../shared/adapters/read-answer.ts";
import { countOf, type EventReader, isRecord, listOf, recordOf, textOf, toArgumentsObject, usageOf } from "../core/kit.ts";
import type { EventTail } from "../shared/adapters/event-filter.ts";
import type { FinishReason, Json, ModelChunk, Usage } from "../core/index.ts";
import { type FinishWords, meaningOf } from "../shared/judge-finish.ts";
import { setField, type UnknownRecord } from "../shared/guards.ts";
import { copyFields, filledOrNone } from "../shared/plain-error.ts";
import { StreamedCall, StreamedCalls } from "../shared/adapters/streamed-calls.ts";
import { endArguments, readArguments } from "../shared/tool-arguments.ts";
import { toMetadataItems } from "./provider-metadata.ts";
import type { WirePart } from "./generate-options.ts";
import { PartialArguments } from "./partial-arguments.ts";

class GoogleCall extends StreamedCall {
  readonly part: { [field: string]: Json };
  readonly #call: { [field: string]: Json };
  readonly #args: PartialArguments = new PartialArguments();
  #whole: string | undefined;
  #inPieces = false;

  constructor(calls: StreamedCalls, key: string, { functionCall: call, ...part }: UnknownRecord) {
    const { args: _args, partialArgs: _pieces, willContinue: _goesOn, ...fields } = recordOf(call);
    super(calls, key, { id: filledOrNone(fields.id), name: textOf(fields.name) });
    this.part = copyFields(part);
    this.#call = copyFields(fields);
  }

  /** Reads one part of a call. Later parts may have fields that the first part lacks, such as a signature. */
  read({ functionCall: call, ...part }: UnknownRecord): void {
    const { args, partialArgs: pieces, willContinue } = recordOf(call);
    this.addMissing(part);
    if (args !== undefined && args !== null) this.#whole = writeArguments(args);
    if (willContinue === true || Array.isArray(pieces)) this.#inPieces = true;
    this.extend(
      listOf(pieces)
        .map((entry) => this.#args.add(entry))
        .join(""),
    );
  }

  addMissing(part: UnknownRecord): void {
    for (const [field, value] of Object.entries(copyFields(part)))
      if (!Object.hasOwn(this.part, field)) setField(this.part, field, value);
  }

  close(isComplete: boolean): void {
    const whole = this.#whole;
    const problem = (whole === undefined ? this.#args.problem : undefined) ?? (isComplete ? undefined : "truncated");
    const argsText = whole ?? this.#args.toText();
    if (problem === undefined) this.complete(argsText);
    const ended = endArguments(argsText, problem === "truncated");
    this.end({ ...ended, problem: problem ?? ended.problem });
    if (this.first instanceof GoogleCall) this.first.addMissing(this.part);
  }

  toWirePart(): WirePart {
    const said = this.#whole ?? (this.#inPieces ? this.#args.toText() : undefined);
    const args = said === undefined ? {} : { args: toArgumentsObject(readArguments(said, 5) ?? said) };
    return { ...this.part, functionCall: { ...this.#call, ...args } };
  }
}

interface OtherPart {
  readonly fields: { [field: string]: Json };
  /**
   * True for text that later parts may continue. Text with a signature is never joined with other text, because the signature covers only
   * its own text.
   */
  readonly isPlain: boolean;
}

/**
 * Sends each part as chunks immediately, and keeps the parts unchanged for the next request. A call usually arrives complete in one
 * part. Vertex AI may stream a call as several parts: the first has the name and `willContinue`, later parts have `partialArgs`,
 * and the final part has no `willContinue`.
 */
class PartAssembly {
  readonly #out: ModelChunk[];
  readonly #kept: (GoogleCall | OtherPart)[] = [];
  readonly #streamed: StreamedCalls;
  #calls = 0;
  #open: GoogleCall | undefined;

  constructor(out: ModelChunk[]) {
    this.#out = out;
    this.#streamed = new StreamedCalls(out);
  }

  get hasCalls(): boolean {
    return this.#calls > 0;
  }

  add(part: UnknownRecord): void {
    if (isRecord(part.functionCall)) this.#addCall(part, part.functionCall);
    else if (typeof part.text === "string") this.#addText(part, part.text);
    else this.#kept.push({ fields: copyFields(part), isPlain: false });
  }

  settle(isComplete = false): void {
    this.#open?.close(isComplete);
    this.#open = undefined;
  }

  parts(): readonly WirePart[] {
    const kept = this.#kept.filter((part) => !(part instanceof GoogleCall && part.first !== undefined));
    return kept.map((part) => (part instanceof GoogleCall ? part.toWirePart() : part.fields));
  }

  #addText(part: UnknownRecord, text: string): void {
    const isThought = part.thought === true;
    const isPlain = Object.keys(part).every((field) => field === "text" || field === "thought");
    if (text !== "") this.#out.push({ type: isThought ? "reasoning-delta" : "text-delta", text });
    // Drops empty text, because Vertex AI would reject it in the next request.
    if (text === "" && isPlain) return;
    const last = this.#kept.at(-1);
    const isJoined = isPlain && last !== undefined && "isPlain" in last && last.isPlain;
    if (isJoined && (last.fields.thought === true) === isThought) last.fields.text = textOf(last.fields.text) + text;
    else if (isPlain) this.#kept.push({ fields: { text, ...(isThought ? { thought: true } : {}) }, isPlain });
    else this.#kept.push({ fields: copyFields(part), isPlain });
  }

  #addCall(part: UnknownRecord, call: UnknownRecord): void {
    const id = filledOrNone(call.id);
    const goesOn = this.#open !== undefined && (textOf(call.name) === "" || (id !== undefined && id === this.#open.id));
    if (!goesOn) {
      // A new call completes the open one, whose arguments can no longer grow. An empty call does nothing else.
      this.settle();
      if (Object.keys(call).length === 0) return;
      this.#open = new GoogleCall(this.#streamed, `call-${this.#calls}`, part);
      this.#calls += 1;
      this.#kept.push(this.#open);
      this.#open.announce();
    }
    this.#open?.read(part);
    if (call.willContinue !== true) this.settle(true);
  }
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

/** The finish reasons that only this service has. Unlisted reasons, such as FINISH_REASON_UNSPECIFIED, become "unknown". */
export const generateWords: FinishWords = new Map<string, FinishReason>([
  ["OTHER", "error"],
  ["CONTINUATION", "continue"],
]);

interface FinishedMessage {
  readonly hasCalls: boolean;
  readonly hasToken: boolean;
}

/**
 * Converts a finish reason. STOP may also end an answer with calls. "continue" without a continuation token becomes "length", because the
 * answer is cut off.
 */
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

const fields = [
  "promptTokenCount",
  "toolUsePromptTokenCount",
  "cachedContentTokenCount",
  "candidatesTokenCount",
  "thoughtsTokenCount",
] as const;

type Counts = { [Field in (typeof fields)[number]]?: number };

/**
 * Collects token counts. Each `usageMetadata` object contains totals for the stream so far. If a count is missing, its earlier value is
 * kept, because Vertex AI sends objects without counts in the middle of a stream. Prompt counts include cached tokens, but not the input of
 * tools that the service runs. Candidate counts exclude thoughts.
 */
export class GenerateUsage {
  readonly #counts: Counts = {};

  add(metadata: unknown): Usage | undefined {
    const said = recordOf(metadata);
    const known = fields.filter((field) => countOf(said[field]) !== undefined);
    for (const field of known) this.#counts[field] = countOf(said[field]) ?? 0;
    return known.length === 0 ? undefined : toUsage(this.#counts, countOf(said.totalTokenCount) ?? 0);
  }
}

/**
 * Converts the counts. The reported `total` may omit a count from an earlier chunk, so `usageOf` raises a `total` that is less than the sum
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
  readonly usage: GenerateUsage;
  hasBegun: boolean;
  /** True while the service runs code. The code's result and more text then follow, even after a finish reason. */
  runsCode: boolean;
  token: string;
  /**
   * The sources that the service found for the answer, such as web pages. The last chunk that contains a field contains its complete value.
   */
  readonly found: { [field: string]: unknown };
}

/**
 * Reads the service's chunks, but only their first candidate. Parts of unknown kinds are kept and sent back. A continuation token is used
 * only if the finish reason requests a continuation. The service also sends such tokens during the stream, so that clients can resume after
 * a lost connection.
 */
export function createGenerateReader(out: ModelChunk[], words: FinishWords = generateWords, tail?: EventTail): EventReader {
  const answer = new Answer(out, words);
  const reading: Reading = {
    answer,
    parts: new PartAssembly(out),
    usage: new GenerateUsage(),
    hasBegun: false,
    runsCode: false,
    token: "",
    found: {},
  };
  return createEventReader(answer, {
    // Stops at `data: [DONE]`, which some gateways send at the end, because the SDK throws an error there
    // (github.com/google-gemini/gemini-cli/issues/16162).
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
  // The SDK usually throws the service's errors, but some of its versions and other clients yield them as chunks.
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
 * True for the first candidate. Others arrive only if the caller requests them. If a candidate has no `index` field, its position in the
 * list is its index.
 */
function isFirst(candidate: unknown, place: number): boolean {
  const { index } = recordOf(candidate);
  return (typeof index === "number" ? index : place) === 0;
}

function readCandidate(candidate: UnknownRecord, reading: Reading): void {
  const { content, finishReason, finishMessage, continuationToken, groundingMetadata, urlContextMetadata } = candidate;
  reading.runsCode = false;
  for (const part of listOf(recordOf(content).parts)) readPart(part, reading);
  if (isFilledRecord(groundingMetadata)) reading.found.groundingMetadata = groundingMetadata;
  if (isFilledRecord(urlContextMetadata)) reading.found.urlContextMetadata = urlContextMetadata;
  if (textOf(continuationToken) !== "") reading.token = textOf(continuationToken);
  const { answer } = reading;
  const raw = textOf(finishReason);
  if (raw === "" || (reading.runsCode && isCleanEnd(answer.reasonOf(raw)))) return;
  answer.explanation = textOf(finishMessage).trim();
  answer.stop(raw);
  reading.parts.settle();
}

/** True for a record with fields, because an empty one must not replace what an earlier chunk had. */
function isFilledRecord(value: unknown): boolean {
  return isRecord(value) && Object.keys(value).length > 0;
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

function endReading({ answer, parts, token, found }: Reading): void {
  const { finish, words, failed, out } = answer;
  if (finish === undefined || failed) return;
  const { raw } = finish;
  const message = { hasCalls: parts.hasCalls, hasToken: token !== "" };
  const reason = finish.reason === "content-filter" ? finish.reason : toFinishReason(raw, message, words);
  if (reason === "content-filter") answer.explain();
  if (isKept(reason)) answer.keep(toMetadataItems(parts.parts(), copyFields(found)));
  out.push({ type: "finish", reason, raw, ...(reason === "continue" ? { token } : {}) });
}
