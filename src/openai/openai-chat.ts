// OpenAI Chat Completions, and compatible servers, as a provider with the caller's own client.

import { createSdkProvider, openAnswer, type Provider, withFinishReasons } from "../core/provider-kit.ts";
import { buildChatBody, createMessageConverter } from "./chat-body.ts";
import { chatWords, createChatReader } from "./chat-chunks.ts";
import { checkChatOptions, type OpenAIChatOptions } from "./chat-options.ts";

/**
 * Makes a provider from an OpenAI client. Key, base URL, proxy and retries of the client are used unchanged. It retries failed
 * connections and the statuses 408, 409, 429 and 5xx by itself, twice unless `maxRetries` is set. Retries around it multiply the
 * attempts.
 *
 * The stream ends with `finish` if the server reported why the model stopped, or sent the final token counts, which only follow a
 * complete answer. Otherwise the answer is incomplete, and there is no `finish`. Errors of the SDK are thrown unchanged. Errors
 * inside the stream that it does not throw are `error` chunks. Reasoning is read under every name that servers use, and sent back
 * only with `echoReasoning`.
 *
 * Throws LoopError `invalid-option` or `unknown-option` if an option is invalid.
 *
 * @example
 * const provider = openaiChat({ client: new OpenAI(), model: "gpt-5" });
 *
 * @example
 * const client = new OpenAI({ baseURL: "https://api.deepseek.com", apiKey });
 * const provider = openaiChat({ client, model: "deepseek-reasoner", id: "deepseek", maxTokensField: "max_tokens", echoReasoning: "reasoning_content" });
 */
export function openaiChat(options: OpenAIChatOptions): Provider {
  const settings = checkChatOptions(options);
  const toMessages = createMessageConverter(settings);
  const words = withFinishReasons(chatWords, options.finishReasons);
  return createSdkProvider(settings, (request, call, out) => ({
    open: async (signal) =>
      openAnswer(settings.client.chat.completions.create(buildChatBody(request, settings, toMessages), { signal }), call.clock),
    reader: createChatReader(out, words),
  }));
}
