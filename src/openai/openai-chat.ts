// OpenAI Chat Completions, and every server that speaks it, as a provider over the caller's own client.

import { createSdkProvider, openAnswer, type Provider, withFinishReasons } from "../core/provider-kit.ts";
import { buildChatBody, createMessageConverter } from "./chat-body.ts";
import { chatWords, createChatReader } from "./chat-chunks.ts";
import { checkChatOptions, type OpenAIChatOptions } from "./chat-options.ts";

/**
 * Makes a provider of an OpenAI client. The client stays the caller's: its key, base URL, proxy and retries are used as they
 * are. It retries refused connections, 408, 409, 429 and 5xx by itself, twice unless `maxRetries` says otherwise: retries
 * of your own around it multiply the attempts.
 *
 * The stream ends with `finish` if the server said why the model stopped, or sent the final token counts, which it sends only after the
 * whole answer. Else the answer is not complete, whatever it holds. What the SDK throws passes through. Errors inside the stream that it does not throw are
 * `error` chunks. Reasoning is read under every name that servers use, and sent back only with `echoReasoning`.
 *
 * Throws LoopError `invalid-option` or `unknown-option` at once where the options are wrong.
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
