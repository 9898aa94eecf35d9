// OpenAI Responses, and every server that speaks it, as a provider over the caller's own client.

import { createSdkProvider, openAnswer, type Provider, withFinishReasons } from "../core/provider-kit.ts";
import { buildResponsesBody, createInputConverter, createToolConverter } from "./responses-body.ts";
import { createResponsesReader, incompleteWords } from "./responses-events.ts";
import { checkResponsesOptions, type OpenAIResponsesOptions } from "./responses-options.ts";

/**
 * Makes a provider of an OpenAI client. The client stays the caller's: its key, base URL, proxy and retries are used as they
 * are. It retries refused connections, 408, 409, 429 and 5xx by itself, twice unless `maxRetries` says otherwise: retries
 * of your own around it multiply the attempts.
 *
 * The stream ends with `finish` where the service said that the response is completed or incomplete, with an `error` chunk where it
 * failed or was cancelled, and without either where it said nothing: then the answer is not complete, whatever it holds. What the SDK
 * throws passes through. The items of a completed response are `provider-metadata` chunks and go back to the same model in their order:
 * reasoning with its encrypted content, messages with their phase, calls, and what the service's own tools did. Nothing is
 * referred to on the service's side, so that a run goes on without anything being stored there. To another model, or where the turn was
 * changed, its text and calls are sent. Commentary and the final answer are both text, with a blank line between.
 * `stopSequences` and `seed` of the settings are not sent, because the wire has neither.
 *
 * Throws LoopError `invalid-option` or `unknown-option` at once where the options are wrong.
 *
 * @example
 * const provider = openaiResponses({ client: new OpenAI(), model: "gpt-5", reasoning: { effort: "low", summary: "auto" } });
 *
 * @example
 * const provider = openaiResponses({
 *   client: new OpenAI(),
 *   model: "gpt-5",
 *   customTools: { run_sql: { type: "text" } }, // its tool gets { input: "SELECT 1" }
 *   serverTools: [{ type: "web_search" }],
 * });
 */
export function openaiResponses(options: OpenAIResponsesOptions): Provider {
  const settings = checkResponsesOptions(options);
  const ports = { settings, toInput: createInputConverter(settings), toTool: createToolConverter(settings) };
  const { client, store } = settings;
  const words = withFinishReasons(incompleteWords, options.finishReasons);
  return createSdkProvider(settings, (request, call, out) => ({
    open: async (signal) => openAnswer(client.responses.create(buildResponsesBody(request, ports), { signal }), call.clock),
    reader: createResponsesReader(out, store, words),
  }));
}
