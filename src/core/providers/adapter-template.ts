// The steps that every adapter of a model service has in common.

import type { Usage } from "../types/common.ts";
import type { AssistantMessage, ProviderMetadata, ToolCallPart } from "../types/message.ts";
import type { ModelCall, ModelChunk, ModelRequest, Provider } from "../types/provider.ts";
import { providerError, toProviderError } from "../errors/provider-error.ts";
import { reconcileUsage } from "../utils/count-usage.ts";
import { isRecord, type UnknownRecord } from "../utils/guards.ts";
import { readTurn } from "../utils/texts.ts";
import { readSdkStream, type SdkStream } from "./read-sdk-stream.ts";

/** How one request is asked and read. */
export type SdkAnswer = Pick<SdkStream, "open" | "reader">;

/**
 * Makes a provider over an SDK. `ask` is called once for each request. Its reader puts chunks into `out`; nothing is sent before `open`.
 *
 * @example
 * return createSdkProvider({ id, model, family }, (request, call, out) => ({
 *   open: (signal) => openAnswer(client.stream(toBody(request), { signal }), call.clock),
 *   reader: createReader(out),
 * }));
 */
export function createSdkProvider(
  { id, model, family }: Pick<Provider, "id" | "model" | "family">,
  ask: (request: ModelRequest, call: ModelCall, out: ModelChunk[]) => SdkAnswer,
): Provider {
  return {
    id,
    model,
    ...(family === undefined ? {} : { family }),
    stream: (request, call) => {
      const out: ModelChunk[] = [];
      return readSdkStream({ ...ask(request, call, out), out }, call);
    },
  };
}

/** Adds the error that an event of a stream holds. */
export function pushError(error: unknown, out: ModelChunk[]): void {
  const said = typeof error === "string" ? error : "The service sent an error without words.";
  out.push({ type: "error", error: isRecord(error) ? toProviderError(error) : providerError("server", said) });
}

/** The reader of a message's provider metadata. */
export interface MetadataReader {
  readonly id: string;
  readonly model: string;
}

/**
 * Reads the items of provider metadata that this service and model wrote. Undefined if there are none, or as soon as one is of another
 * service or model: signatures are not portable, and half of a turn is not that turn.
 */
export function readOwnItems(
  metadata: ProviderMetadata | undefined,
  { id, model }: MetadataReader,
): readonly UnknownRecord[] | undefined {
  const items: UnknownRecord[] = [];
  for (const part of metadata ?? []) {
    if (part.provider !== id || part.model !== model || !isRecord(part.item)) return undefined;
    items.push(part.item);
  }
  return items.length === 0 ? undefined : items;
}

/** The content of a message's recorded items. */
export interface RecordedTurn<Item> {
  readonly text: string;
  /** The items that are calls of the run's own tools, in order. */
  readonly calls: readonly Item[];
  /** Whether an item is this call. */
  isCall(item: Item, call: ToolCallPart): boolean;
}

/**
 * Whether recorded items say what the neutral parts of a turn say: the same text, and the same calls in the same order. They do not after
 * somebody edited the turn, after a later stream of it was cut off, or if a call got another id. Then the turn must be written anew.
 */
export function saysTheSame<Item>(turn: AssistantMessage, { text, calls: recorded, isCall }: RecordedTurn<Item>): boolean {
  const { text: said, calls } = readTurn(turn);
  if (text !== said || recorded.length !== calls.length) return false;
  return recorded.every((item, position) => {
    const call = calls[position];
    return call !== undefined && isCall(item, call);
  });
}

/** The token counts of one stream as a service gives them. Undefined if it does not. */
export interface TokenCounts {
  /** With the cached tokens. */
  readonly input: number | undefined;
  /** With the tokens of reasoning. */
  readonly output: number | undefined;
  /** Default the sum of both. */
  readonly total?: number | undefined;
  readonly cached?: number | undefined;
  readonly cacheWrite?: number | undefined;
  readonly reasoning?: number | undefined;
}

/** Makes a valid usage of token counts; undefined if neither input nor output is known. */
export function usageOf({ input, output, total, cached, cacheWrite, reasoning }: TokenCounts): Usage | undefined {
  if (input === undefined && output === undefined) return undefined;
  const [inputTokens, outputTokens] = [input ?? 0, output ?? 0];
  return reconcileUsage({
    inputTokens,
    outputTokens,
    totalTokens: total ?? inputTokens + outputTokens,
    ...(cached === undefined ? {} : { cachedInputTokens: cached }),
    ...(cacheWrite === undefined ? {} : { cacheWriteTokens: cacheWrite }),
    ...(reasoning === undefined ? {} : { reasoningTokens: reasoning }),
  });
}
