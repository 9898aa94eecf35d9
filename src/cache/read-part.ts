// Reads part of a stored result. Limits the size of the text and the result, and the work a query may do, because the path and text come
// from models, tools and servers.

import { cutText, describeValue, takeStart } from "../shared/texts.ts";
import { isFunction } from "../shared/errors/check-fields.ts";
import { isRecord, markSignal } from "../core/kit.ts";
import { type ToolContext, toolResult, type ToolResult } from "../core/index.ts";
import { countBytes } from "../shared/estimate-tokens.ts";
import { toPlainError } from "../shared/plain-error.ts";
import { lookUp, Answer } from "./look-up.ts";
import { type BlockIndex, indexLines, type LineIndex, linesOfRanges, linesOfText } from "./text-lines.ts";
import type { RangedText, ReadRequest, ReadSource, SourceText } from "./read-request.ts";
import type { LimitedStore } from "./result-store.ts";
import type { Selection } from "./select-nodes.ts";

type JsonRequest = Extract<ReadRequest, { readonly action: "json" }>;

/**
 * The maximum lengths of a path and a value in the answer, in UTF-16 units. `onlyValue` applies to the value of a single match.
 */
const longest = { path: 250, value: 650, onlyValue: 1_700 };

async function queryJson(text: string, { path, startMatch }: JsonRequest): Promise<string> {
  const document = parseDocument(text);
  // Imports the JSONPath library only when needed, because it is half as large as the rest of `turnwright/cache`.
  const { selectNodes } = await import("./select-nodes.ts");
  const { nodes, count, isWhole } = selectNodes(document, { path, startMatch, maxDepth });
  const total = isWhole ? String(count) : `at least ${count}`;
  const stopped = isWhole ? "" : " The search stopped because the path needs too much work: use a narrower path.";
  if (count === 0) return isWhole ? "The path matches nothing. The path $ shows how the text begins." : stopped.trim();
  if (nodes.length === 0) return `The path has ${total} matches, and none from ${startMatch} on.${stopped}`;
  const answer = new Answer();
  const maxValueLength = count === 1 ? longest.onlyValue : longest.value;
  for (const node of nodes) if (!answer.add(describeMatch(node, maxValueLength))) break;
  const next = startMatch + answer.count;
  const more = next <= count ? ` The rest did not fit: continue with start_match ${next}.` : "";
  return answer.under(`Matches ${startMatch} to ${next - 1} of ${total}.${more}${stopped}`);
}

function describeMatch(node: Selection["nodes"][number], maxValueLength: number): string {
  return `${cutText(node.getPath(), longest.path)}: ${briefJson(node.value, maxValueLength)}`;
}

/**
 * Writes a value as JSON, cut to `longest` UTF-16 units and ending with "…". Reads only as much as it writes, because a value can be a
 * whole document.
 */
function briefJson(value: unknown, longest: number): string {
  const pieces = piecesOf(value, longest);
  let text = "";
  for (const piece of pieces) {
    text += piece;
    if (text.length > longest) return cutText(text, longest);
  }
  return text;
}

function* piecesOf(value: unknown, longest: number): Generator<string> {
  if (Array.isArray(value)) {
    yield "[";
    for (let index = 0; index < value.length; index += 1) {
      if (index > 0) yield ",";
      yield* piecesOf(value[index], longest);
    }
    yield "]";
  } else if (isRecord(value)) {
    let separator = "{";
    for (const key in value) {
      yield `${separator}${scalarOf(key, longest)}:`;
      yield* piecesOf(value[key], longest);
      separator = ",";
    }
    yield separator === "{" ? "{}" : "}";
  } else yield scalarOf(value, longest);
}

/** Cuts a string before `JSON.stringify` copies it, because the string may have millions of characters. */
function scalarOf(value: unknown, longest: number): string {
  if (typeof value !== "string" || value.length <= longest) return JSON.stringify(value);
  return JSON.stringify(takeStart(value, longest + 1)).slice(0, -1);
}

/** The maximum size of JSON text, in bytes. Parsing text of this size takes about 0.1 seconds. */
const maxJsonBytes: number = 8 * 1_024 * 1_024;

const maxValues = 1_000_000;

/** The maximum depth of a document. The JSONPath library is recursive, so deeper documents could overflow the stack. */
const maxDepth = 100;

function parseDocument(text: string): unknown {
  const bytes = countBytes(text);
  if (bytes > maxJsonBytes) throw tooLarge(bytes);
  const written = text.startsWith("\uFEFF") ? text.slice(1) : text;
  checkShape(written);
  try {
    return JSON.parse(written);
  } catch (error) {
    const reason = toPlainError(error).message.replace(/\.$/, "");
    throw new Error(`The text is not JSON: ${reason}. Use the actions "read" and "grep" instead.`, { cause: error });
  }
}

function tooLarge(bytes: number): Error {
  return new Error(
    `The text has ${bytes} bytes, but the action "json" reads at most ${maxJsonBytes}. Use the actions "grep" and "read" to find the part that you need.`,
  );
}

const quote = 34;
const backslash = 92;
const comma = 44;
const openers: ReadonlySet<number> = new Set([91, 123]);
const closers: ReadonlySet<number> = new Set([93, 125]);

/** Throws if the JSON has too many levels or values. Runs before `JSON.parse`, which could use too much memory for such a document. */
function checkShape(text: string): void {
  let depth = 0;
  let values = 1;
  for (let index = 0; index < text.length; index += 1) {
    const unit = text.charCodeAt(index);
    if (unit === quote) index = endOfString(text, index + 1);
    else if (unit === comma) values += 1;
    else if (openers.has(unit)) {
      depth += 1;
      values += 1;
    } else if (closers.has(unit)) depth -= 1;
    if (depth > maxDepth)
      throw new Error(`The JSON is nested more than ${maxDepth} levels deep. Use the actions "read" and "grep" instead.`);
    if (values > maxValues)
      throw new Error(`The JSON has more than ${maxValues} values. Use the actions "read" and "grep" instead.`);
  }
}

function endOfString(text: string, start: number): number {
  for (let index = start; index < text.length; index += 1) {
    const unit = text.charCodeAt(index);
    if (unit === backslash) index += 1;
    else if (unit === quote) return index;
  }
  return text.length;
}

type PartRequest = Exclude<ReadRequest, { readonly action: "release" }>;

export const toolName = "read_part";

interface Texts {
  readonly shelf: LimitedStore;
  readonly indexOf: (id: string, text: string) => LineIndex;
  readonly sources: readonly ReadSource[];
}

type Context = Pick<ToolContext, "messages" | "signal">;

export function createReader(texts: Texts): (request: ReadRequest, context: Context) => Promise<string | ToolResult> {
  const { shelf, indexOf, sources } = texts;
  const blocksOf = rememberRecent<BlockIndex>();

  const readRanges = async (text: RangedText, request: PartRequest, { key, signal }: Reading): Promise<string> => {
    try {
      if (request.action === "json") return await queryJson(await readWhole(text), request);
      return await lookUp(linesOfRanges(text, { known: blocksOf(`${key}\n${text.version}`, createBlockIndex), signal }), request);
    } finally {
      await text.close();
    }
  };

  return async (request, { messages, signal }) => {
    if (request.action === "release") return releaseText(shelf, request.id, messages);
    const stored = await shelf.find(request.id);
    if (stored !== undefined) return readInMemory(stored, request, (text) => indexOf(request.id, text));
    for (const source of sources) {
      const text = await openIn(source, request.id, signal);
      if (text === undefined) continue;
      if (typeof text !== "string") return readRanges(text, request, { key: `${source.name}\n${request.id}`, signal });
      return readInMemory(text, request);
    }
    throw unknownId(sources);
  };
}

function readInMemory(text: string, request: PartRequest, indexOf: (text: string) => LineIndex = indexLines): Promise<string> {
  return request.action === "json" ? queryJson(text, request) : lookUp(linesOfText(text, indexOf(text)), request);
}

const createBlockIndex = (): BlockIndex => ({ blocks: [], isComplete: false });

interface Reading {
  readonly key: string;
  readonly signal: AbortSignal;
}

async function openIn(source: ReadSource, id: string, signal: AbortSignal): Promise<SourceText | undefined> {
  const text: unknown = await source.open(id, signal);
  if (text === undefined || typeof text === "string" || isRanged(text)) return text;
  const expected = 'a string, undefined, or an object with "bytes", "version", "read" and "close"';
  throw new Error(
    `The open() method of the source "${source.name}" must return ${expected}, but returned ${describeValue(text)}.`,
  );
}

function isRanged(value: unknown): value is RangedText {
  if (!isRecord(value)) return false;
  const { bytes, version, read, close } = value;
  return Number.isSafeInteger(bytes) && typeof version === "string" && isFunction(read) && isFunction(close);
}

async function readWhole(text: RangedText): Promise<string> {
  if (text.bytes > maxJsonBytes) throw tooLarge(text.bytes);
  return new TextDecoder("utf-8", { ignoreBOM: true }).decode(await text.read(0, text.bytes));
}

function unknownId(sources: readonly ReadSource[]): Error {
  const expired = "There is no stored result with this id, or the result has expired. Repeat the call that returned the result.";
  const others = sources.map(({ description }) => description).join("; ");
  return new Error(others === "" ? expired : `${expired} Other texts: ${others}.`);
}

/**
 * Deletes the stored result with this id, and releases the results of earlier `read_part` calls with this id. Later model requests
 * omit released results. Text from sources is not deleted. Calls made before the run stay in requests, because masking sees only
 * the run's own calls.
 */
async function releaseText(shelf: LimitedStore, id: string, messages: Context["messages"]): Promise<ToolResult> {
  const release = callsOf(messages, id);
  const isDeleted = await shelf.remove(id);
  if (!isDeleted && release.length === 0)
    throw new Error("This id matches neither a stored result nor a text that you have read.");
  const calls = release.length === 1 ? "1 earlier call" : `${release.length} earlier calls`;
  const data = `Released: the results of ${calls}.${isDeleted ? " The stored result is deleted." : ""}`;
  return markSignal(toolResult({ data }), { release });
}

/** Returns the ids of the completed calls that read the text. Failed calls always stay in requests, so they are not released. */
function callsOf(messages: Context["messages"], id: string): readonly string[] {
  const results = messages.flatMap((message) => (message.role === "tool" ? message.results : []));
  const completed = new Set(results.filter(({ outcome }) => outcome === "completed").map(({ callId }) => callId));
  const parts = messages.flatMap((message) => (message.role === "assistant" ? message.content : []));
  return parts.flatMap((part) => {
    if (part.type !== "tool-call" || part.name !== toolName || !completed.has(part.callId)) return [];
    const args = part.approvedArgs ?? part.args;
    return isRecord(args) && args["id"] === id && args["action"] !== "release" ? [part.callId] : [];
  });
}

const maxKept = 16;

export function rememberRecent<Made>(): (key: string, make: () => Made) => Made {
  const known = new Map<string, Made>();
  return (key, make) => {
    const made = known.get(key) ?? make();
    known.delete(key);
    known.set(key, made);
    for (const oldest of known.keys()) {
      if (known.size <= maxKept) break;
      known.delete(oldest);
    }
    return made;
  };
}
