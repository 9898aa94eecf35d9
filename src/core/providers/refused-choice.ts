import { toProviderError } from "../errors/provider-error.ts";
import type { ModelCall, ModelChunk, ModelRequest } from "../types/provider.ts";
import { isForced, toForcedText } from "./forced-choice.ts";
import type { SdkStream } from "./read-sdk-stream.ts";
import { reportTo } from "./request-changes.ts";
import { wrapReader } from "./wrap-reader.ts";

/** The texts with which services refuse a forced call, although other requests may force one. */
const refusals: readonly RegExp[] = [
  // Anthropic (platform.claude.com/docs/en/models, github.com/browserbase/stagehand/issues/2231). DashScope
  // (github.com/UKGovernmentBEIS/inspect_ai/pull/5152). Kimi (github.com/can1357/oh-my-pi/issues/1077).
  /tool.?choice.{0,60}(?:not (?:compatible|supported) (?:with|for|by|on) this model|does not support|incompatible with)/i,
  // z.ai (github.com/can1357/oh-my-pi/issues/11635), Meta (github.com/LiveBench/LiveBench/issues/499), and LM Studio
  // (github.com/lmstudio-ai/lmstudio-bug-tracker/issues/670).
  /tool.?choice must be .?auto|only .{0,4}auto.{0,4} is supported for .?tool.?choice|invalid tool.?choice type/i,
  // DeepSeek (github.com/deepseek-ai/DeepSeek-V3/issues/1376), Bedrock (github.com/strands-agents/harness-sdk/issues/1241), and
  // OpenRouter (github.com/zed-industries/zed/issues/36094).
  /(?:does(?: not|n't) support|that support) (?:this|the) .{0,40}tool.?choice/i,
  // Gemini (github.com/google-gemini/deprecated-generative-ai-js/issues/241, github.com/langchain-ai/langchain-google/issues/330).
  /function calling mode .?any.? is not|forced function calling .{0,20} is only supported/i,
];

type Ask = (request: ModelRequest) => Pick<SdkStream, "open" | "reader" | "explain">;

interface Ports {
  readonly call: ModelCall;
  readonly out: ModelChunk[];
}

/**
 * Returns a function that asks a service. If the service refuses a forced call, the function asks once more with the choice "auto" and
 * an instruction, and does so from then on.
 */
export function createChoiceMemory(): (request: ModelRequest, ask: Ask, ports: Ports) => ReturnType<Ask> {
  let isRefused = false;
  return (request, ask, { call, out }) => {
    if (!isForced(request.toolChoice)) return ask(request);
    const askFreely = (): ReturnType<Ask> => {
      reportTo(out)({ by: "adapter", field: "toolChoice", action: "replaced", reason: "unsupported" });
      return ask(toFreeRequest(request));
    };
    let used = isRefused ? askFreely() : ask(request);
    const open = async (signal: AbortSignal): Promise<unknown> => {
      try {
        return await used.open(signal);
      } catch (error) {
        const { message } = toProviderError(error);
        const isNew = !isRefused && !signal.aborted && refusals.some((text) => text.test(message));
        // The service refused the request before the model read it, so nothing was spent.
        if (!isNew || call.mayAsk?.([]) === false) throw error;
        isRefused = true;
        used = askFreely();
        return used.open(signal);
      }
    };
    return { open, reader: wrapReader(() => used.reader), explain: (error) => used.explain?.(error) ?? error };
  };
}

function toFreeRequest(request: ModelRequest): ModelRequest {
  const { messages, toolChoice } = request;
  const mayAsk = isForced(toolChoice) && messages[messages.length - 1]?.role !== "assistant";
  const asked = mayAsk ? [...messages, { role: "user", content: toForcedText(toolChoice) } as const] : messages;
  return { ...request, messages: asked, toolChoice: "auto" };
}
