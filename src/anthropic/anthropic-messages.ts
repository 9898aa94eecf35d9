// Anthropic Messages as a provider over the caller's own client.

import { createSdkProvider, openAnswer, type Provider, withFinishReasons } from "../core/provider-kit.ts";
import { buildMessagesBody, createMessageConverter } from "./messages-body.ts";
import { createMessagesReader, stopWords } from "./messages-events.ts";
import { type AnthropicMessagesOptions, checkMessagesOptions } from "./messages-options.ts";

/**
 * Makes a provider of an Anthropic client. The client stays the caller's: its key, base URL, proxy and retries are used as they
 * are. It retries refused connections, 408, 409, 429 and 5xx by itself, twice unless `maxRetries` says otherwise: retries
 * of your own around it multiply the attempts.
 *
 * The stream ends with `finish` where it came to `message_stop` and said why the model stopped, and without one where it did
 * not: then the answer is not complete, whatever it holds. What the SDK throws passes through. The blocks of a finished turn are
 * `provider-metadata` chunks and go back to the same model exactly as they came: thinking with its signature, the server's own tools and
 * blocks that are not known yet. To another model, or where the turn was changed, its text and calls are sent. `seed` of the
 * settings is not sent, because the wire has none.
 *
 * Throws LoopError `invalid-option` or `unknown-option` at once where the options are wrong.
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
      // The loop's own clock counts from anywhere, and a container expires by the calendar.
      const body = buildMessagesBody(request, { settings, convert, now: Date.now() });
      return openAnswer(client.messages.create(body, { signal, ...headers }), call.clock);
    },
    reader: createMessagesReader(out, words),
  }));
}
