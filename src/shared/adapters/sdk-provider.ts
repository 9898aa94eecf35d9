// Builds a provider from an SDK client, for all adapters. Also repairs calls in the wrong form: calls written into the answer's text, and
// arguments that do not match the schema.

import type { ProviderError, Usage } from "../../core/types/common.ts";
import type { AssistantMessage, ProviderMetadata, ToolCallPart } from "../../core/types/message.ts";
import type { ModelCall, ModelChunk, ModelRequest, ModelSettings, Provider } from "../../core/types/provider.ts";
import type { ToolDefinition } from "../../core/types/tool.ts";
import { providerError } from "../errors/provider-error.ts";
import { toProviderError } from "../errors/read-sdk-error.ts";
import type { CallReadyChunk } from "../tool-arguments.ts";
import { reconcileUsage } from "../count-usage.ts";
import { addEdges } from "../edges.ts";
import { isRecord, type UnknownRecord } from "../guards.ts";
import { redactJson, redactText } from "../redact-secrets.ts";
import { readAssistantMessage } from "../plain-message.ts";
import { toProviderFacts, type ProviderFacts } from "../wrap-provider.ts";
import { createRefusalMemory, type SdkAnswer } from "./refused-parts.ts";
import { mapItems, toWellFormedRequest } from "./well-formed.ts";
import { createToolRenamer, type NameRules } from "./wire-names.ts";
import { fitArguments } from "./fit-arguments.ts";
import { readSdkStream, type SdkStream, type EventReader } from "./read-sdk-stream.ts";
import { wrapReader } from "./wrap-reader.ts";

/**
 * Matches the end of an answer whose calls the server could not parse. The closing mark must follow something that can end a call, because
 * an answer that only explains the format may end with the mark itself.
 */
const closings: readonly RegExp[] = [
  // Matches the end of a call as DeepSeek V4 writes it (github.com/sgl-project/sglang/issues/40236,
  // github.com/TokenRhythm/opensquilla/issues/985, github.com/AgentFlocks/flocks/pull/687).
  /<\/ ?[|｜]{1,2} ?DSML ?[|｜]{1,2} ?\w+>$/,
  // Matches the end of a call as Kimi writes it (github.com/NousResearch/hermes-agent/issues/24534,
  // github.com/MoonshotAI/Kimi-K2/issues/89).
  /[>}\n]\s*<\|tool_calls?(?:_section)?_end\|>$/,
  // Matches the end of a call as MiniMax writes it (github.com/MiniMax-AI/MiniMax-M2.5/issues/10,
  // github.com/MiniMax-AI/MiniMax-M3/issues/31, github.com/NousResearch/hermes-agent/issues/35935).
  /[>\n]\s*<\/minimax:tool_call>$|[}\n]\s*\[\/TOOL_CALL\]$/,
  // Matches the end of a call as Qwen and GLM write it (github.com/QwenLM/qwen-code/issues/3730, github.com/theroyallab/tabbyAPI/pull/378).
  /(?:[>}[\n]|<tool_call>[\w.-]{1,64})\s*<\/tool_call>$/,
  // Matches the end of a call as gpt-oss writes it (github.com/lablup/mlxcel/issues/654).
  /[}\n]\s*<\|call\|>$/,
];

/** Matches the beginning of a gpt-oss call, which may end without a closing mark (github.com/raullenchai/Rapid-MLX/issues/480). */
const opening = /(?:commentary|analysis) to=functions\.([\w-]{1,64})/;

/**
 * The number of characters to search at the end of the text. Enough for any closing mark of a call, such as `</tool_call>`, and whitespace
 * after it.
 */
const tailLength = 100;

/**
 * Adapts calls' arguments to the schemas of their tools. If the text of an answer without calls ends with a call, the finish reason
 * becomes "malformed-call", so that the model is asked again. The call is not run, because a model may also write such text when it quotes
 * a document. Returns `reader` itself if the model must not call tools.
 */
function watchCalls(reader: EventReader, out: ModelChunk[], { tools, toolChoice }: ModelRequest): EventReader {
  if (tools.length === 0 || toolChoice === "none") return reader;
  const find: FindTool = (wanted) => tools.find(({ name }) => name === wanted);
  const texts = new TextWatch((name) => find(name) !== undefined);
  let hasCalls = false;
  const watch = (chunk: ModelChunk): ModelChunk => {
    texts.take(chunk);
    hasCalls ||= chunk.type === "call-start" || chunk.type === "call-ready";
    if (chunk.type === "call-start") return withPlainName(chunk, find);
    if (chunk.type === "call-ready") return fitCall(withPlainName(chunk, find), find);
    const isLeak = chunk.type === "finish" && chunk.reason === "stop" && !hasCalls && texts.endWithCall();
    return isLeak ? { ...chunk, reason: "malformed-call" } : chunk;
  };
  return wrapReader(
    () => reader,
    () => {
      for (const [index, chunk] of out.entries()) out[index] = watch(chunk);
    },
  );
}

/** Searches an answer's text for a call. If an answer has no text, its reasoning is searched. */
class TextWatch {
  readonly #isTool: (name: string | undefined) => boolean;
  #text = "";
  #reasoning = "";
  #hasOpening = false;

  constructor(isTool: (name: string | undefined) => boolean) {
    this.#isTool = isTool;
  }

  take(chunk: ModelChunk): void {
    if (chunk.type === "text-delta") this.#text = this.#add(this.#text, chunk.text);
    if (chunk.type === "reasoning-delta") this.#reasoning = this.#add(this.#reasoning, chunk.text);
  }

  endWithCall(): boolean {
    const end = (this.#text.trim() === "" ? this.#reasoning : this.#text).trimEnd();
    return closings.some((closing) => closing.test(end)) || (this.#hasOpening && end.endsWith("}"));
  }

  /** Appends text and returns the new tail. Searches each piece for a call's beginning, because only the tail is kept. */
  #add(tail: string, added: string): string {
    const piece = tail + added;
    // Most pieces do not contain this text, so the slower pattern is not tried on them.
    if (!this.#hasOpening && piece.includes("to=functions.")) this.#hasOpening = this.#isTool(opening.exec(piece)?.[1]);
    return (tail + added.slice(-tailLength)).slice(-tailLength);
  }
}

type FindTool = (name: string | undefined) => ToolDefinition | undefined;

/**
 * Removes from a tool's name the tokens of gpt-oss, as in "look<|channel|>commentary" (github.com/vllm-project/vllm/issues/32587), and the
 * namespaces of GPT and Gemini, as in "functions.look" (github.com/tontinton/maki/issues/505) and "default_api.look"
 * (github.com/google-gemini/cookbook/issues/1374). Other namespaces stay, because they may name a server whose tools are not available.
 */
function withPlainName<Chunk extends { readonly name: string }>(chunk: Chunk, find: FindTool): Chunk {
  const name = chunk.name.replace(/^(?:functions|default_api)[.:]|<\|.*$/gs, "").trim();
  return name === chunk.name || find(chunk.name) !== undefined || find(name) === undefined ? chunk : { ...chunk, name };
}

function fitCall(chunk: CallReadyChunk, find: FindTool): CallReadyChunk {
  const tool = find(chunk.name);
  if (tool === undefined || chunk.problem !== undefined) return chunk;
  const args = fitArguments(chunk.args, tool.inputSchema);
  return args === chunk.args ? chunk : { ...chunk, args };
}

/** The fields that describe a provider, and its adapter's `errorWords` option. */
export interface SdkProviderFacts extends ProviderFacts, Pick<SdkStream, "errorWords">, NameRules {
  /** Converts a tool to a form that the service accepts. Must return the same object for the same tool. Default: no conversion. */
  readonly toTool?: ((tool: ToolDefinition) => ToolDefinition) | undefined;
}

/**
 * Creates a provider from an SDK. `ask` is called once for each request, and returns two values: `open` sends the request, and `reader`
 * pushes chunks to `out`. Names that the service refuses are replaced in requests and restored in answers. In all strings of the request,
 * half surrogate pairs are replaced with U+FFFD, and U+0000 is removed.
 *
 * @example
 * return createSdkProvider({ id, model, family }, (request, call, out) => ({
 *   open: async (signal) => {
 *     const body = toBody(request);
 *     call.sending?.(body, { id, model });
 *     return openAnswer(client.stream(body, { signal }), call.clock);
 *   },
 *   reader: createReader(out),
 * }));
 */
export function createSdkProvider(
  { errorWords, toolNames, parameterNames, toTool, ...facts }: SdkProviderFacts,
  ask: (request: ModelRequest, call: ModelCall, out: ModelChunk[]) => SdkAnswer,
): Provider {
  addEdges({ redactText, redactJson, readError: toProviderError });
  const isRenaming = toolNames !== undefined || parameterNames !== undefined;
  const names = isRenaming ? createToolRenamer({ toolNames, parameterNames }) : undefined;
  const askAgain = createRefusalMemory();
  return {
    ...toProviderFacts(facts),
    stream: (request, call) => {
      const out: ModelChunk[] = [];
      const { tools } = request;
      const whole = toWellFormedRequest(request);
      const formed = toTool === undefined ? whole : { ...whole, tools: mapItems(whole.tools, toTool) };
      const send = (adapted: ModelRequest): SdkAnswer => {
        const { reader, ...answer } = ask(names?.rename(adapted) ?? adapted, call, out);
        return { ...answer, reader: watchCalls(names?.restore(reader, out, adapted) ?? reader, out, { ...adapted, tools }) };
      };
      return readSdkStream({ ...askAgain(formed, send, { call, out }), out, errorWords }, call);
    },
  };
}

/** Pushes an error chunk for an error that a stream event contains. */
export function pushError(error: unknown, out: ModelChunk[]): void {
  out.push({ type: "error", error: isRecord(error) ? toProviderError(error) : readErrorText(error) });
}

function readErrorText(error: unknown): ProviderError {
  const said = typeof error === "string" && error !== "" ? error : "The service sent an error without a message.";
  const found = toProviderError({ error: said });
  // An unknown error here comes from a service, not from a mistake in the program, so it counts as a server error, which may be retried.
  return found.code === "server" ? providerError("server", found.message) : found;
}

/** The provider that reads a message's provider metadata. */
export interface MetadataReader {
  readonly id: string;
  readonly model: string;
}

/**
 * Reads the items of a message's provider metadata. Returns undefined if there are no items, or if any item comes from another service or
 * model. A signature is only valid for the model that made it. Returns all items or none, because a subset would be a different message.
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

/** The text and the calls in a message's provider metadata. */
export interface RecordedMessage<Item> {
  readonly text: string;
  /** The items that are calls to the run's tools, in order. Calls to tools that the service runs itself are not included. */
  readonly calls: readonly Item[];
  /** Returns true if an item represents the call `call`. */
  isCall(item: Item, call: ToolCallPart): boolean;
}

/**
 * Returns true if an assistant message's provider metadata matches its content: the same text, and the same calls in
 * the same order. They differ if the message was edited, a continuation was cut off, or a call got a different id. The adapter must
 * then build the message from its content.
 */
export function saysTheSame<Item>(turn: AssistantMessage, { text, calls: recorded, isCall }: RecordedMessage<Item>): boolean {
  const { text: said, calls } = readAssistantMessage(turn);
  if (text !== said || recorded.length !== calls.length) return false;
  return recorded.every((item, position) => {
    const call = calls[position];
    return call !== undefined && isCall(item, call);
  });
}

/** One stream's token counts, as the service reports them. A count that the service does not report is undefined. */
export interface TokenCounts {
  /** The number of input tokens, including cached tokens. */
  readonly input: number | undefined;
  /** The number of output tokens, including reasoning tokens. */
  readonly output: number | undefined;
  /** The total number of tokens. Default: the sum of input and output. */
  readonly total?: number | undefined;
  readonly cached?: number | undefined;
  readonly cacheWrite?: number | undefined;
  readonly reasoning?: number | undefined;
}

/** Creates a valid usage from token counts. Returns undefined if neither `input` nor `output` is known. */
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

/**
 * Groups consecutive items with the same role. Concatenate each group's content in one step, because adding one message
 * after another takes quadratic time.
 */
export function groupByRole<Item extends { readonly role: string }>(items: Iterable<Item>): readonly RoleGroup<Item>[] {
  const groups: [Item, ...Item[]][] = [];
  for (const item of items) {
    const group = groups[groups.length - 1];
    if (group?.[0].role === item.role) group.push(item);
    else groups.push([item]);
  }
  return groups;
}

/** One or more items with the same role. */
export type RoleGroup<Item> = readonly [Item, ...Item[]];

/** The service's names for the settings in a request's body. Settings without a name are not sent. */
export type SettingNames = { readonly [Name in keyof Omit<ModelSettings, "extra">]?: string };

const settingOrder = ["maxOutputTokens", "temperature", "topP", "stopSequences", "seed"] as const;

/** Returns the settings that are defined, without an empty list of stop sequences. Default names: turnwright's own. */
export function toSettingFields(settings: ModelSettings, names?: SettingNames): object {
  const fields = settingOrder.flatMap((name) => {
    const value = settings[name];
    const field = names === undefined ? name : names[name];
    const isUnset = value === undefined || (Array.isArray(value) && value.length === 0);
    return field === undefined || isUnset ? [] : [[field, value] as const];
  });
  return Object.fromEntries(fields);
}
