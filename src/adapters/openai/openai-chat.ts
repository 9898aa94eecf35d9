// OpenAI Chat Completions, and every server that speaks it, as a provider over the caller's own client.

import {
  isRecord,
  providerError,
  toProviderError,
  type ModelCall,
  type ModelChunk,
  type ModelRequest,
  type Provider,
} from "../../spi.ts";
import { buildChatBody } from "./chat-body.ts";
import { createChatReader } from "./chat-chunks.ts";
import { createMessageConverter, type MessageConverter } from "./chat-messages.ts";
import { checkChatOptions, type ChatSettings, type OpenAIChatOptions } from "./chat-options.ts";

/**
 * Makes a provider of an OpenAI client. The client stays the caller's: its key, base URL, proxy and retries are used as they
 * are. It retries refused connections, 408, 409, 429 and 5xx by itself, twice unless `maxRetries` says otherwise: retries
 * of your own around it multiply the attempts.
 *
 * The stream ends with `finish` where the server said why the model stopped, and without one where it did not: then the answer
 * is not complete, whatever it holds. What the SDK throws passes through. Errors inside the stream that it does not throw are
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
  const { id, model, family } = settings;
  return {
    id,
    model,
    ...(family === undefined ? {} : { family }),
    stream: (request, call) => streamChat(request, call, { settings, toMessages }),
  };
}

interface ChatPorts {
  readonly settings: ChatSettings;
  readonly toMessages: MessageConverter;
}

async function* streamChat(
  request: ModelRequest,
  call: ModelCall,
  ports: ChatPorts,
): AsyncGenerator<ModelChunk, void, undefined> {
  const out: ModelChunk[] = [];
  const reader = createChatReader(out);
  const followed = followSignal(call.signal);
  try {
    for await (const chunk of await openStream(request, followed.signal, ports)) {
      reader.read(chunk);
      // One for one is the rule, and emptying an array by its length would make the next push allocate.
      const only = out.length === 1 ? out.pop() : undefined;
      if (only !== undefined) yield only;
      else if (out.length > 0) yield* out.splice(0);
      if (reader.failed) return;
    }
  } catch (error) {
    // The answer is complete: what a lost connection took away is no more than the token counts.
    if (!reader.finished || toProviderError(error).code !== "network") throw error;
  } finally {
    followed.release();
  }
  reader.end();
  yield* out;
}

async function openStream(request: ModelRequest, signal: AbortSignal, ports: ChatPorts): Promise<AsyncIterable<unknown>> {
  const body = buildChatBody(request, ports.settings, ports.toMessages);
  const stream: unknown = await ports.settings.client.chat.completions.create(body, { signal });
  if (!isStream(stream)) throw providerError("server", "The client answered without a stream.");
  return stream;
}

/** A signal that does what another one does until it is released. The SDK never takes its listener off the signal that it is given. */
function followSignal(signal: AbortSignal): { readonly signal: AbortSignal; release(): void } {
  const own = new AbortController();
  const abort = (): void => own.abort(signal.reason);
  signal.addEventListener("abort", abort, { once: true });
  if (signal.aborted) abort();
  return { signal: own.signal, release: () => signal.removeEventListener("abort", abort) };
}

function isStream(value: unknown): value is AsyncIterable<unknown> {
  return isRecord(value) && typeof Reflect.get(value, Symbol.asyncIterator) === "function";
}
