// Anthropic Messages as a provider, with the caller's own client.

import { createSdkProvider, openAnswer, type Provider, withFinishReasons } from "../core/provider-kit.ts";
import { buildMessagesBody, createMessageConverter } from "./messages-body.ts";
import { createMessagesReader, stopWords } from "./messages-events.ts";
import { type AnthropicMessagesOptions, checkMessagesOptions } from "./messages-options.ts";

/**
 * Makes a provider from an Anthropic client. Key, base URL, proxy and retries of the client are used unchanged. It retries failed
 * connections and the statuses 408, 409, 429 and 5xx by itself, twice unless `maxRetries` is set. Retries around it multiply the
 * attempts.
 *
 * The stream ends with `finish` if it reached `message_stop` with a stop reason. Otherwise it ends without one, because the
 * answer is incomplete. Errors of the SDK are thrown unchanged.
 *
 * The blocks of a finished message become `provider-metadata` chunks and go back to the same model unchanged: thinking with its
 * signature, the server's own tools, and unknown blocks. Another model gets only the text and the calls, as does the same model
 * if the message was edited. `seed` of the settings is not sent, because the API has none.
 *
 * Throws LoopError `invalid-option` or `unknown-option` if an option is invalid.
 *
 * @example
 * const provider = anthropicMessages({ client: new Anthropic(), model: "claude-opus-4-6", cache: true });
 *
 * @example
 * const provider = anthropicMessages({
 *   client: new Anthropic(),
 *   model: "claude-opus-4-6",
 *   maxTokens: 32_000,
 *   thinking: { type: "adaptive" },
 *   serverTools: [{ type: "web_search_20250305", name: "web_search" }],
 * });
 */
export function anthropicMessages(options: AnthropicMessagesOptions): Provider {
  const settings = checkMessagesOptions(options);
  const convert = createMessageConverter(settings);
  const words = withFinishReasons(stopWords, options.finishReasons);
  const { client, betas } = settings;
  const headers = betas.length === 0 ? {} : { headers: { "anthropic-beta": betas.join(",") } };
  return createSdkProvider(settings, (request, call, out) => ({
    open: async (signal) => {
      // Real time: containers expire at a date, and the clock of the loop has an arbitrary origin.
      const body = buildMessagesBody(request, { settings, convert, now: Date.now() });
      return openAnswer(client.messages.create(body, { signal, ...headers }), call.clock);
    },
    reader: createMessagesReader(out, words),
  }));
}
