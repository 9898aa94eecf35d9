// Repeats a request without the part that the service refused, and remembers the refusal for later requests.

import { toProviderError } from "../errors/read-sdk-error.ts";
import type { ProviderError } from "../../core/types/common.ts";
import type { Message } from "../../core/types/message.ts";
import type { ModelCall, ModelChunk, ModelRequest, ModelSettings, RequestChange } from "../../core/types/provider.ts";
import { memoize } from "../promises.ts";
import { createMediaMemory } from "./refused-media.ts";
import { isForced, toForcedText } from "../forced-choice.ts";
import type { SdkStream } from "./read-sdk-stream.ts";
import { reportTo } from "./request-changes.ts";
import { mapItems } from "./well-formed.ts";
import { wrapReader } from "./wrap-reader.ts";

/** Matches messages that services send to refuse a forced call. Other requests to the same service may still force one. */
const refusals: readonly RegExp[] = [
  // Matches refusals by Anthropic (platform.claude.com/docs/en/models, github.com/browserbase/stagehand/issues/2231), DashScope
  // (github.com/UKGovernmentBEIS/inspect_ai/pull/5152) and Kimi (github.com/can1357/oh-my-pi/issues/1077).
  /tool.?choice.{0,60}(?:not (?:compatible|supported) (?:with|for|by|on) this model|does not support|incompatible with)/i,
  // Matches refusals by z.ai (github.com/can1357/oh-my-pi/issues/11635), Meta (github.com/LiveBench/LiveBench/issues/499) and LM Studio
  // (github.com/lmstudio-ai/lmstudio-bug-tracker/issues/670).
  /tool.?choice must be .?auto|only .{0,4}auto.{0,4} is supported for .?tool.?choice|invalid tool.?choice type/i,
  // Matches refusals by DeepSeek (github.com/deepseek-ai/DeepSeek-V3/issues/1376), Bedrock
  // (github.com/strands-agents/harness-sdk/issues/1241) and OpenRouter (github.com/zed-industries/zed/issues/36094).
  /(?:does(?: not|n't) support|that support) (?:this|the) .{0,40}tool.?choice/i,
  // Matches refusals by Gemini (github.com/google-gemini/deprecated-generative-ai-js/issues/241,
  // github.com/langchain-ai/langchain-google/issues/330).
  /function calling mode .?any.? is not|forced function calling .{0,20} is only supported/i,
  // Matches refusals to turn thinking off, as some models require for a forced call, by OpenRouter
  // (github.com/can1357/oh-my-pi/pull/9420), DashScope (github.com/QwenLM/qwen-code/issues/7332) and Volcengine
  // (github.com/VicBilibily/GCMP/issues/289, github.com/CherryHQ/cherry-studio/issues/7508).
  /reasoning is mandatory|enable_thinking.{0,40}restricted to true|support disabling thinking|unsupported thinking type/i,
];

/**
 * Matches errors about a setting that the model does not support, and about two that it does not support together. Claude refuses
 * `temperature` with `top_p` (github.com/open-webui/open-webui/issues/17922).
 */
const settingRefusal = /unsupported|(?:not|n't) support|deprecated|cannot both/i;

/**
 * The names of settings in such errors. OpenAI writes "Unsupported value: 'temperature' does not support 0.2 with this model", even for an
 * Azure deployment whose name does not reveal the model (github.com/microsoft/vscode/issues/274315). LiteLLM writes "does not support
 * parameters: ['temperature']" (github.com/kortix-ai/suna/issues/254).
 */
const settingNames: readonly (readonly [keyof ModelSettings, RegExp])[] = [
  ["temperature", /\btemperature\b/i],
  ["topP", /\btop_?p\b/i],
  ["stopSequences", /['"`]stop(?:_?sequences)?['"`]|\b(?:parameter|model):? stop\b/i],
  ["seed", /['"`]seed['"`]/i],
];

/**
 * Matches refusals of an item of the Responses API without its partner: a call without its reasoning, or reasoning without its call
 * (github.com/TanStack/ai/issues/1212, github.com/laravel/ai/issues/1052).
 */
const lacksPartner = /provided without its required (?:'reasoning'|following) item/;

/** True if the service refuses the reasoning in earlier messages. */
export function refusesReasoning({ code, message }: ProviderError): boolean {
  return code === "request-changed" || lacksPartner.test(message);
}

function findRefusedSettings(
  { settings = {} }: ModelRequest,
  { code, message }: ProviderError,
): readonly (keyof ModelSettings)[] {
  if (code !== "bad-request" || !settingRefusal.test(message)) return [];
  const found = settingNames.flatMap(([name, pattern]) => (settings[name] !== undefined && pattern.test(message) ? [name] : []));
  return message.includes("cannot both") ? found.slice(1) : found;
}

/** The messages whose reasoning a service has refused. */
export interface RefusedReasoning {
  /**
   * Returns the assistant messages whose reasoning has not been refused. Call this before a request is sent, because the reasoning may be
   * refused in another request before the answer arrives.
   */
  listAccepted(messages: readonly Message[]): readonly Message[];
  /** Remembers that the reasoning of these messages was refused. Returns false if there are none. */
  refuse(messages: readonly Message[]): boolean;
  has(message: Message): boolean;
}

export function createRefusedReasoning(): RefusedReasoning {
  const refused = new WeakSet<Message>();
  return {
    listAccepted: (messages) => messages.filter((message) => message.role === "assistant" && !refused.has(message)),
    refuse: (messages) => {
      for (const message of messages) refused.add(message);
      return messages.length > 0;
    },
    has: (message) => refused.has(message),
  };
}

/** An adapter's stream for one request. */
export interface SdkAnswer extends Pick<SdkStream, "open" | "reader" | "explain"> {
  /** Called when the service refuses the request. May change what `open` sends. Return true to call `open` again. */
  readonly adapt?: ((error: ProviderError) => boolean) | undefined;
  /** True if `adapt` removes refused reasoning. Default: refused reasoning is removed together with all provider metadata. */
  readonly adaptsReasoning?: boolean | undefined;
}

type Ask = (request: ModelRequest) => SdkAnswer;

interface Ports {
  readonly call: ModelCall;
  readonly out: ModelChunk[];
}

/** A request without the parts that the service refused before. */
interface AdaptedRequest {
  readonly request: ModelRequest;
  /**
   * Remembers what the service refuses. Returns true if this request contained it. Concurrent requests may contain a part that has since
   * been refused, and each of them is sent again without it.
   */
  refuse(error: ProviderError, adaptsReasoning: boolean): boolean;
}

function createMemory(): (request: ModelRequest, report: (change: RequestChange) => void) => AdaptedRequest {
  let refusesForced = false;
  const adaptMedia = createMediaMemory();
  const refused = createRefusedReasoning();
  const refusedSettings = new Set<keyof ModelSettings>();
  return (request, report) => {
    const reasoned = refused.listAccepted(request.messages).filter(hasMetadata);
    const plain = withoutReasoning(request, refused);
    if (plain !== request) report({ by: "adapter", field: "reasoning", action: "removed", reason: "request-changed" });
    const media = adaptMedia(plain);
    if (media.isChanged) report({ by: "adapter", field: "media", action: "replaced", reason: "refused" });
    const adapted = withoutSettings(media.request, refusedSettings, report);
    const forces = isForced(request.toolChoice) && !refusesForced;
    const isFreed = isForced(request.toolChoice) && !forces;
    if (isFreed) report({ by: "adapter", field: "toolChoice", action: "replaced", reason: "unsupported" });
    return {
      request: isFreed ? withFreeChoice(adapted) : adapted,
      refuse: (error, adaptsReasoning) => {
        const { message } = error;
        const settings = findRefusedSettings(adapted, error);
        for (const name of settings) refusedSettings.add(name);
        if (settings.length > 0) return true;
        if (refusesReasoning(error)) return !adaptsReasoning && refused.refuse(reasoned);
        if (media.refuse(message)) return true;
        if (!forces || !refusals.some((text) => text.test(message))) return false;
        refusesForced = true;
        return true;
      },
    };
  };
}

/**
 * Returns a function that sends requests to a service. If the service refuses a forced call, the function retries once with the choice
 * "auto" and an instruction. If it refuses reasoning, it retries once without the messages' provider metadata. If it refuses images or
 * cannot read an image or a file, it retries once with text instead, except in a new user message. If it refuses settings, such as the
 * temperature, it retries without them. The function remembers these refusals for later requests. An adapter may handle other refusals
 * itself.
 */
export function createRefusalMemory(): (
  request: ModelRequest,
  ask: Ask,
  ports: Ports,
) => Omit<SdkAnswer, "adapt" | "adaptsReasoning"> {
  const adapt = createMemory();
  return (request, ask, { call, out }) => {
    let adapted = adapt(request, reportTo(out));
    let used = ask(adapted.request);
    const open = async (signal: AbortSignal): Promise<unknown> => {
      try {
        return await used.open(signal);
      } catch (error) {
        if (signal.aborted) throw error;
        const refusal = toProviderError(error);
        const isAdapted = used.adapt?.(refusal) === true;
        const mayAskAgain = isAdapted || adapted.refuse(refusal, used.adaptsReasoning === true);
        // The service refused the request before the model read it, so the request cost nothing.
        if (!mayAskAgain || call.mayAsk?.([]) === false) throw error;
        if (!isAdapted) {
          adapted = adapt(request, reportTo(out));
          used = ask(adapted.request);
        }
        return open(signal);
      }
    };
    return { open, reader: wrapReader(() => used.reader), explain: (error) => used.explain?.(error) ?? error };
  };
}

function withoutSettings(
  request: ModelRequest,
  refused: ReadonlySet<string>,
  report: (change: RequestChange) => void,
): ModelRequest {
  const { settings = {} } = request;
  const entries = Object.entries(settings);
  const removed = entries.filter(([name, value]) => value !== undefined && refused.has(name));
  if (removed.length === 0) return request;
  for (const [field] of removed) report({ by: "adapter", field, action: "removed", reason: "unsupported" });
  return { ...request, settings: Object.fromEntries(entries.filter((entry) => !removed.includes(entry))) };
}

export function hasMetadata(message: Message): boolean {
  return message.role === "assistant" && message.providerMetadata !== undefined;
}

function withoutReasoning(request: ModelRequest, refused: RefusedReasoning): ModelRequest {
  const messages = mapItems(request.messages, (message) => (refused.has(message) ? withoutMetadata(message) : message));
  return messages === request.messages ? request : { ...request, messages };
}

const withoutMetadata = /* @__PURE__ */ memoize((message: Message): Message =>
  message.role === "assistant" ? { ...message, providerMetadata: undefined } : message,
);

/** Replaces a forced call with an instruction, unless the model must continue its own message. */
export function withFreeChoice(request: ModelRequest): ModelRequest {
  const { messages, toolChoice } = request;
  const mayAsk = isForced(toolChoice) && messages[messages.length - 1]?.role !== "assistant";
  const asked = mayAsk ? [...messages, { role: "user", content: toForcedText(toolChoice) } as const] : messages;
  return { ...request, messages: asked, toolChoice: "auto" };
}
