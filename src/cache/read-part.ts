import {
  describeValue,
  isFunction,
  isRecord,
  markSignal,
  type ToolContext,
  type ToolResult,
  toolResult,
} from "../core/entry-kit.ts";
import { lookUp } from "./look-up.ts";
import { mostJsonBytes, queryJson, tooLarge } from "./query-json.ts";
import { type BlockIndex, indexLines, type LineIndex, linesOfRanges, linesOfText } from "./text-lines.ts";
import type { RangedText, ReadRequest, ReadSource, SourceText } from "./read-request.ts";
import type { LimitedStore } from "./result-store.ts";

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
  throw new Error(`"open" of the source "${source.name}" must return ${expected}, but returned ${describeValue(text)}.`);
}

function isRanged(value: unknown): value is RangedText {
  if (!isRecord(value)) return false;
  const { bytes, version, read, close } = value;
  return Number.isSafeInteger(bytes) && typeof version === "string" && isFunction(read) && isFunction(close);
}

async function readWhole(text: RangedText): Promise<string> {
  if (text.bytes > mostJsonBytes) throw tooLarge(text.bytes);
  return new TextDecoder("utf-8", { ignoreBOM: true }).decode(await text.read(0, text.bytes));
}

function unknownId(sources: readonly ReadSource[]): Error {
  const expired = "There is no stored result with this id, or the result has expired. Repeat the call that returned the result.";
  const others = sources.map(({ description }) => description).join("; ");
  return new Error(others === "" ? expired : `${expired} Other texts: ${others}.`);
}

/**
 * Deletes the stored result with this id, and releases the results of earlier `read_part` calls with this id. Later model requests
 * leave out released results. Texts of sources are not deleted. Calls from before the run stay in requests, because masking sees
 * only the calls of the run.
 */
async function releaseText(shelf: LimitedStore, id: string, messages: Context["messages"]): Promise<ToolResult> {
  const release = callsOf(messages, id);
  const isDeleted = await shelf.remove(id);
  if (!isDeleted && release.length === 0)
    throw new Error("You have read no text with this id, and no stored result has this id.");
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

const mostKept = 16;

export function rememberRecent<Made>(): (key: string, make: () => Made) => Made {
  const known = new Map<string, Made>();
  return (key, make) => {
    const made = known.get(key) ?? make();
    known.delete(key);
    known.set(key, made);
    for (const oldest of known.keys()) {
      if (known.size <= mostKept) break;
      known.delete(oldest);
    }
    return made;
  };
}
