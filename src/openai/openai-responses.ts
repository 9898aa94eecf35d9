import {
  createMediaFitter,
  createSdkProvider,
  type Provider,
  type RequestChange,
  withFinishReasons,
} from "../core/provider-kit.ts";
import { buildResponsesBody, createInputConverter, createToolConverter, inputMedia } from "./responses-body.ts";
import { createResponsesReader, incompleteWords } from "./responses-events.ts";
import { keepErrorBodies } from "./keep-error-bodies.ts";
import { checkResponsesOptions, type OpenAIResponsesOptions } from "./responses-options.ts";
import { openEvents, toResponseEvent } from "./whole-answer.ts";

/**
 * Makes a provider from an OpenAI client. The provider uses the client's key, base URL, proxy and retries unchanged. The client
 * retries failed connections and the statuses 408, 409, 429 and 5xx by itself: twice, unless its `maxRetries` is set. If your own
 * code also retries, the numbers of attempts multiply.
 *
 * The stream ends with `finish` if the service reports that the response is completed or incomplete. The stream ends with an
 * `error` chunk if the service reports that the response failed or was cancelled. If the service sends none of these reports, the
 * answer is incomplete, and the stream ends without a `finish` or `error` chunk. Errors that the SDK throws are passed on
 * unchanged.
 *
 * The items of a completed response become `provider-metadata` chunks. The next request sends these items back to the same model
 * in the same order: reasoning with its encrypted content, messages with their phase, calls, and results of tools that the
 * service runs. By default the items do not refer to stored data, so the service need not store responses. If the message was
 * edited or goes to another model, only its text and calls are sent.
 *
 * With the option `compaction`, the service replaces old items with an encrypted summary if the run has the policy
 * `compactMessages`. The summary is sent back with its message, even if nothing is stored. Requests still have the items before
 * the summary, because other models cannot read the summary.
 *
 * Commentary and the final answer are both sent as text, separated by a blank line. The settings `stopSequences` and `seed` are
 * not sent, because the API has no fields for them.
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
 *   customTools: { run_sql: { type: "text" } }, // the tool run_sql gets { input: "SELECT 1" }
 *   serverTools: [{ type: "web_search" }],
 * });
 */
export function openaiResponses(options: OpenAIResponsesOptions): Provider {
  const settings = checkResponsesOptions(options);
  const ports = { settings, toInput: createInputConverter(settings), toTool: createToolConverter(settings) };
  const { client, store } = settings;
  keepErrorBodies(client, client.responses);
  const fitMedia = createMediaFitter({ forms: inputMedia, limits: settings.quirks.media, id: settings.id });
  const words = withFinishReasons(incompleteWords, options.finishReasons);
  return createSdkProvider({ ...settings, errorWords: options.errorWords }, (request, call, out) => ({
    open: async (signal) => {
      const report = (change: RequestChange): void => void out.push({ type: "request-adjusted", changes: [change] });
      const body = buildResponsesBody(fitMedia(request), { ...ports, report });
      call.sending?.(body, settings);
      const send = (): unknown => client.responses.create(body, { signal });
      return openEvents(send, { body, call, toEvent: toResponseEvent });
    },
    reader: createResponsesReader(out, store, words),
  }));
}
