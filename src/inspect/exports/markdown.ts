import { type AssistantPart, checkFields, type Checks, is } from "../../core/kit.ts";
import type { UserPart } from "../../core/types/common.ts";
import type { Message, PlainError, ProviderError, Usage } from "../../core/index.ts";
import { assertNever } from "../../shared/guards.ts";
import type {
  LoggedAttempt,
  LoggedCall,
  LoggedCompaction,
  LoggedIteration,
  LoggedRequest,
  LoggedRun,
  LoggedWait,
} from "../../shared/run-log.ts";
import { stepsOf } from "../analysis/run-totals.ts";
import { describeWait, waitsOf } from "../analysis/waits.ts";
import { formatCount, formatMs, formatTime, formatUSD } from "../format.ts";
import { toBlock, toCode, toDataBlock, toFolded, toQuote } from "./markdown-blocks.ts";
import { isSummary, newMessagesOf } from "../analysis/request-messages.ts";

export interface MarkdownPlace {
  readonly system: boolean;
  readonly reasoning: boolean;
  readonly maxChars: number;
  /** False for a run that was read from a journal, because its times begin at 0. */
  readonly hasDates: boolean;
}

interface MessagesPlace {
  /** The newest request that was sent before this iteration. */
  readonly before: LoggedRequest | undefined;
  readonly place: MarkdownPlace;
}

/**
 * Writes all messages of the first request. For later requests, writes only new user messages, because the iterations already show the
 * outputs and results.
 */
function writeMessages({ request }: LoggedIteration, { before, place }: MessagesPlace): readonly string[] {
  if (request === undefined) return [];
  const { system } = request;
  const isNew = place.system && system !== undefined && system !== before?.system;
  const added = before === undefined ? request.messages() : newMessagesOf(request, before).filter(({ role }) => role === "user");
  const changed = request.replaced.length;
  return [
    ...(isNew ? [toFolded("System text", toDataBlock(system, place.maxChars))] : []),
    ...(changed > 0 ? [`_Earlier messages that this request has in a changed form: ${changed}._`] : []),
    ...added.flatMap((message) => writeMessage(message, place.maxChars)),
  ];
}

function writeMessage(message: Message, maxChars: number): readonly string[] {
  switch (message.role) {
    case "user":
      return [
        isSummary(message) ? "**Summary, in place of old messages**" : "**User**",
        ...toParts(message.content).map((part) => writeUserPart(part, maxChars)),
      ];
    case "assistant":
      return message.content.flatMap((part) => writeAssistantPart(part, maxChars));
    case "tool":
      return message.results.flatMap(({ name, result }) => [
        `**Earlier result of ${toCode(name)}**`,
        toDataBlock(result, maxChars),
      ]);
    default:
      return assertNever(message);
  }
}

function toParts(content: string | readonly UserPart[]): readonly UserPart[] {
  return typeof content === "string" ? [{ type: "text", text: content }] : content;
}

/** Writes part of a user message. Names images and files instead of embedding them, so that a viewer loads nothing. */
function writeUserPart(part: UserPart, maxChars: number): string {
  if (part.type === "text") return toDataBlock(part.text, maxChars);
  return `_${part.type === "image" ? "Image" : "File"} of type_ ${toCode(part.mediaType)}`;
}

function writeAssistantPart(part: AssistantPart, maxChars: number): readonly string[] {
  if (part.type === "tool-call") return [`**Earlier call of ${toCode(part.name)}**`, toDataBlock(part.args, maxChars)];
  return part.type === "text" ? ["**Earlier answer**", toDataBlock(part.text, maxChars)] : [];
}

/** The options of `toMarkdown`. */
export interface MarkdownOptions {
  /** False to omit the system text. Otherwise it is folded. Default true. */
  readonly system?: boolean | undefined;
  /** False to omit the model's reasoning. Otherwise it is folded. Default true. */
  readonly reasoning?: boolean | undefined;
  /** The maximum length of each text, argument and result, in characters. A whole number of at least 1, or `Infinity`. Default 4,000. */
  readonly maxChars?: number | undefined;
}

const isCount = (value: unknown): boolean =>
  typeof value === "number" && value >= 1 && (Number.isInteger(value) || value === Number.POSITIVE_INFINITY);

const checks: Checks<MarkdownOptions> = {
  system: is.flag,
  reasoning: is.flag,
  maxChars: ["a whole number of at least 1, or Infinity", isCount],
};

/**
 * Returns a transcript of a run as Markdown, for people: status, reason, time, tokens and cost, then each iteration with its
 * messages, text, calls, results, waits and errors. Nested runs are quoted below their calls.
 *
 * All text from users, models and tools is in fenced code blocks that it cannot close, so a viewer shows Markdown, HTML and links in it as
 * plain text, even if the viewer allows HTML. Control characters are shown as code points. The only HTML is `<details>` around the system
 * text and reasoning.
 *
 * Throws LoopError "invalid-option" or "unknown-option" if `options` is invalid.
 *
 * @example
 * const { runs } = await readRunLog("run.jsonl");
 * await writeFile("run.md", runs.map((run) => toMarkdown(run)).join("\n"));
 */
export function toMarkdown(run: LoggedRun, options: MarkdownOptions = {}): string {
  checkFields("options", options, checks);
  const { system = true, reasoning = true, maxChars = 4000 } = options;
  return `${writeRun(run, { system, reasoning, maxChars, hasDates: run.startedAt > 0 })}\n`;
}

function writeRun(run: LoggedRun, place: MarkdownPlace): string {
  const title = run.path.length === 0 ? "Run" : "Nested run";
  let before: LoggedRequest | undefined;
  const steps = stepsOf(run).map((step) => {
    if (!("calls" in step)) return writeCompaction(step, place);
    const written = writeIteration(step, { run, before, place });
    before = step.request ?? before;
    return written;
  });
  return joinBlocks([`# ${title} ${toCode(run.runId)}`, writeFacts(run, place), ...writeError(run.error, place), ...steps]);
}

function joinBlocks(blocks: readonly string[]): string {
  return blocks.filter((block) => block !== "").join("\n\n");
}

type Fact = string | undefined | false;

function toList(facts: readonly Fact[]): string {
  return facts.flatMap((fact) => (typeof fact === "string" ? [`- ${fact}`] : [])).join("\n");
}

function writeFacts(run: LoggedRun, { hasDates }: MarkdownPlace): string {
  const { status, reason, provider, model, startedAt, starts, durationMs, usage, costUSD, toolCallsExecuted } = run;
  const resumed = starts.slice(1).map(formatTime).join(", ");
  return toList([
    status === undefined
      ? run.error === undefined && "Status: the log does not contain the end of this run"
      : `Status: ${toCode(status)}`,
    reason && `Reason: ${toCode(reason.kind)}${describeFacts(reason)}`,
    `Model: ${toCode(model)} from ${toCode(provider)}`,
    hasDates && `Started: ${formatTime(startedAt)}`,
    hasDates && resumed !== "" && `Resumed: ${resumed}`,
    durationMs !== undefined && `Time: ${formatMs(durationMs)}`,
    `Iterations: ${formatCount(run.iterations.length)}`,
    toolCallsExecuted !== undefined && `Tool calls: ${formatCount(toolCallsExecuted)}`,
    usage && `Tokens: ${describeUsage(usage)}`,
    costUSD !== undefined && `Cost: ${formatUSD(costUSD)}`,
  ]);
}

/** Returns the names and numbers in a reason, such as ", limit 20". */
function describeFacts(reason: object): string {
  const facts = Object.entries(reason).flatMap(([name, value]: [string, unknown]): string[] => {
    if (name === "kind") return [];
    if (typeof value === "number") return [`${toCode(name)} ${formatCount(value)}`];
    return typeof value === "string" ? [`${toCode(name)} ${toCode(value)}`] : [];
  });
  const error = "error" in reason ? (reason.error as Partial<PlainError & ProviderError> | null) : undefined;
  const message = typeof error?.message === "string" ? [toCode(error.message)] : [];
  return [...facts, ...message].map((fact) => `, ${fact}`).join("");
}

function describeUsage({ inputTokens, outputTokens, cachedInputTokens }: Usage): string {
  const cached = cachedInputTokens === undefined ? "" : ` (${formatCount(cachedInputTokens)} from the cache)`;
  return `${formatCount(inputTokens)} in${cached}, ${formatCount(outputTokens)} out`;
}

function writeError(error: PlainError | ProviderError | undefined, { maxChars }: MarkdownPlace): readonly string[] {
  if (error === undefined) return [];
  const code = "code" in error && error.code !== undefined ? ` ${toCode(error.code)}` : "";
  return [`**Error**${code}`, toBlock(error.message, { language: "text", maxChars })];
}

const causes: { readonly [cause: string]: string | undefined } = {
  due: "the context was nearly full",
  forced: "the service refused the last request as too long",
};

function writeCompaction(compaction: LoggedCompaction, place: MarkdownPlace): string {
  const { iteration, isReplayed, cause, startedAt, endedAt, outcome, tokensBefore = 0, tokensAfter = 0, error } = compaction;
  const facts = toList([
    isReplayed && "Replayed from a journal",
    cause !== undefined && `Cause: ${(Object.hasOwn(causes, cause) && causes[cause]) || toCode(cause)}`,
    `Ended: ${outcome === undefined ? "not in the log" : toCode(outcome)}`,
    outcome === "compacted" &&
      `Estimated tokens of the next request: ${formatCount(tokensBefore)} before, ${formatCount(tokensAfter)} after`,
    endedAt !== undefined && place.hasDates && `Time: ${formatMs(endedAt - startedAt)}`,
    ...describeSummary(compaction),
  ]);
  return joinBlocks([`## Compaction before iteration ${iteration}`, facts, ...writeError(error, place)]);
}

function describeSummary({ provider = "", model, usage, costUSD }: LoggedCompaction): readonly Fact[] {
  return [
    model !== undefined && `Model: ${toCode(model)} from ${toCode(provider)}`,
    usage && `Tokens: ${describeUsage(usage)}`,
    costUSD !== undefined && `Cost: ${formatUSD(costUSD)}`,
  ];
}

interface IterationPlace {
  readonly run: LoggedRun;
  /** The newest request that was sent before this iteration. */
  readonly before: LoggedRequest | undefined;
  readonly place: MarkdownPlace;
}

function writeIteration(iteration: LoggedIteration, { run, before, place }: IterationPlace): string {
  const { continuation, output, calls } = iteration;
  const { maxChars } = place;
  const { text = "", reasoning = "", error } = output ?? {};
  return joinBlocks([
    `## Iteration ${iteration.iteration}${continuation > 0 ? `, continuation ${continuation}` : ""}`,
    writeIterationFacts(iteration, run, place),
    ...writeMessages(iteration, { before, place }),
    ...(place.reasoning && reasoning !== "" ? [toFolded("Reasoning", toDataBlock(reasoning, maxChars))] : []),
    ...(text === "" ? [] : ["**Model**", toDataBlock(text, maxChars)]),
    ...writeError(error, place),
    ...calls.map((call) => writeCall(call, { iteration, place })),
  ]);
}

function writeIterationFacts(iteration: LoggedIteration, run: LoggedRun, place: MarkdownPlace): string {
  const { usage, costUSD, durationMs, firstToken, attempts, model = run.model } = iteration;
  const first = firstToken === undefined ? "" : `, first token after ${formatMs(firstToken.ms)}`;
  return toList([
    iteration.isReplayed && "Replayed from a journal",
    durationMs !== undefined && `Stream: ${formatMs(durationMs)}${first}`,
    model !== run.model && `Model: ${toCode(model)}`,
    iteration.status !== undefined && `Ended: ${toCode(iteration.status)}`,
    usage && `Tokens: ${describeUsage(usage)}`,
    costUSD !== undefined && `Cost: ${formatUSD(costUSD)}`,
    ...attempts.map(describeAttempt),
    ...waitsOf(iteration).map((wait) => writeWait(wait, place)),
  ]);
}

function describeAttempt({ attempt, provider, model, startedAt, discardedAt, error }: LoggedAttempt): Fact {
  if (discardedAt === undefined) return false;
  const why = error === undefined ? "" : `: ${toCode(error.code)}, ${toCode(error.message)}`;
  const time = formatMs(discardedAt - startedAt);
  return `Attempt ${attempt} with ${toCode(model)} from ${toCode(provider)} was discarded after ${time}${why}`;
}

function writeWait(wait: LoggedWait, { hasDates }: MarkdownPlace): string {
  const since = wait.to === undefined && hasDates ? ` since ${formatTime(wait.from)}` : "";
  return `${describeWait(wait).replace("w", "W")}${since}`;
}

interface CallPlace {
  readonly iteration: LoggedIteration;
  readonly place: MarkdownPlace;
}

function writeCall(call: LoggedCall, { iteration, place }: CallPlace): string {
  const { callId, name, args, result, outcome, decision, problem, durationMs } = call;
  const { maxChars } = place;
  const facts = toList([
    `Call id: ${toCode(callId)}`,
    outcome === undefined
      ? "Outcome: not in the log"
      : `Outcome: ${toCode(outcome)}${outcome === "interrupted" ? ", the tool may have run" : ""}`,
    problem !== undefined && `Arguments: ${toCode(problem)}`,
    decision !== undefined && `Decision: ${toCode(decision)}`,
    durationMs !== undefined && `Time: ${formatMs(durationMs)}`,
    ...waitsOf(iteration, callId).map((wait) => writeWait(wait, place)),
  ]);
  return joinBlocks([
    `### Call ${toCode(name)}`,
    facts,
    ...(args === undefined ? [] : ["**Arguments**", toDataBlock(args, maxChars)]),
    ...call.runs.map((run) => toQuote(writeRun(run, place))),
    ...(result === undefined ? [] : ["**Result**", toDataBlock(result, maxChars)]),
  ]);
}
