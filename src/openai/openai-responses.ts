// OpenAI Responses, and compatible servers, as a provider with the caller's own client.

import { createSdkProvider, openAnswer, type Provider, withFinishReasons } from "../core/provider-kit.ts";
import { buildResponsesBody, createInputConverter, createToolConverter } from "./responses-body.ts";
import { createResponsesReader, incompleteWords } from "./responses-events.ts";
import { checkResponsesOptions, type OpenAIResponsesOptions } from "./responses-options.ts";

/**
 * Makes a provider from an OpenAI client. Key, base URL, proxy and retries of the client are used unchanged. It retries failed
 * connections and the statuses 408, 409, 429 and 5xx by itself, twice unless `maxRetries` is set. Retries around it multiply the
 * attempts.
 *
 * The stream ends with `finish` if the service reported the response as completed or incomplete, and with an `error` chunk if it
 * failed or was cancelled. Without a report it ends with neither, because the answer is incomplete. Errors of the SDK are thrown
 * unchanged.
 *
 * The items of a completed response become `provider-metadata` chunks and go back to the same model in their order: reasoning
 * with its encrypted content, messages with their phase, calls, and results of the service's own tools. Nothing refers to stored
 * data of the service, so a run can go on without storage. Another model gets only the text and the calls, as does the same model
 * if the message was edited.
 *
 * Commentary and the final answer are both text, with a blank line between them. `stopSequences` and `seed` of the settings are
 * not sent, because the API has neither.
 *
 * Throws LoopError `invalid-option` or `unknown-option` if an option is invalid.
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
