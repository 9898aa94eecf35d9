import { createMediaFitter } from "../shared/adapters/fit-media.ts";
import { createRefusedReasoning, hasMetadata, refusesReasoning } from "../shared/adapters/refused-parts.ts";
import { createSdkProvider, recordOf, withFinishReasons } from "../core/kit.ts";
import { EventTail } from "../shared/adapters/event-filter.ts";
import type { Provider, ProviderError } from "../core/index.ts";
import type { UnknownRecord } from "../shared/guards.ts";
import { isStream } from "../shared/adapters/read-sdk-stream.ts";
import { reportTo } from "../shared/adapters/request-changes.ts";
import { buildResponsesBody, createInputConverter, createToolConverter, inputMedia } from "./responses-body.ts";
import { createResponsesReader, toResponseError } from "./responses-events.ts";
import { keepErrorBodies } from "./keep-error-bodies.ts";
import { checkResponsesOptions, type OpenAIResponsesOptions } from "./responses-options.ts";
import { describeClient, explainLoss, openEvents, toResponseEvent } from "./whole-answer.ts";

/**
 * Creates a provider from an OpenAI client. The provider uses the client's key, base URL, proxy and retries unchanged. The client
 * automatically retries failed connections and responses with status 408, 409, 429 or 5xx: twice, unless its `maxRetries` is set. If your
 * own code also retries, the numbers of attempts multiply.
 *
 * The stream ends with `finish` if the service reports that the response is completed or incomplete. The stream ends with an
 * `error` chunk if the service reports that the response failed or was cancelled. If the service sends none of these reports, the
 * answer is incomplete, and the stream ends without a `finish` or `error` chunk. Errors that the SDK throws are passed on unchanged,
 * except that errors about a wrong address or a missing key say what to change.
 *
 * The items of a completed response become `provider-metadata` chunks. The next request sends these items back to the same model
 * in the same order: reasoning with its encrypted content, messages with their phase, calls, and results of tools that the
 * service runs. By default the items do not refer to stored data, so the service need not store responses. If the message was
 * edited or goes to a different model, only its text and calls are sent.
 *
 * With the `compaction` option, the service replaces old items with an encrypted summary if the run has
 * `compactMessages`. The summary is sent back with its message, even if nothing is stored. Requests still contain the items before
 * the summary, because other models cannot read it.
 *
 * Commentary and the final answer are both sent as text, separated by a blank line. The `stopSequences` and `seed` settings are
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
  const refused = createRefusedReasoning();
  const ports = { settings, toInput: createInputConverter(settings, refused), toTool: createToolConverter(settings) };
  const { client, store } = settings;
  keepErrorBodies(client, client.responses);
  const fitMedia = createMediaFitter({ forms: inputMedia, limits: settings.quirks.media, id: settings.id });
  const words = withFinishReasons(new Map(), options.finishReasons);
  const hints = describeClient(client, "If it is right, the service may have no Responses API: use `openaiChat`.");
  return createSdkProvider({ ...settings, ...settings.quirks }, (request, call, out) => {
    const report = reportTo(out);
    const tail = new EventTail();
    // The messages whose reasoning this request sends. Other requests with the same messages may have changed since then.
    let reasoned = request.messages;
    const ask = async (signal: AbortSignal): Promise<unknown> => {
      const body = buildResponsesBody(fitMedia(request), { ...ports, report });
      reasoned = refused.listAccepted(request.messages);
      call.sending?.(body, settings);
      const send = (): unknown => client.responses.create(body, { signal });
      const events = await openEvents(send, { body, call, toEvent: toResponseEvent, tail });
      return reasoned.some(hasMetadata) ? checkStart(events) : events;
    };
    const adapt = (error: ProviderError): boolean => {
      if (!refusesReasoning(error) || !refused.refuse(reasoned)) return false;
      report({ by: "adapter", field: "reasoning", action: "removed", reason: "request-changed" });
      return true;
    };
    return {
      open: ask,
      reader: createResponsesReader(out, store, words),
      explain: explainLoss(tail, out, hints),
      adapt,
      adaptsReasoning: true,
    };
  });
}

/**
 * Reads the stream up to the first event that does more than announce the response. Throws if this event says that the service refuses
 * the request.
 */
async function checkStart(events: unknown): Promise<unknown> {
  if (!isStream(events)) return events;
  const iterator = events[Symbol.asyncIterator]();
  const read: IteratorResult<unknown>[] = [];
  for (let isStart = true; isStart;) {
    const next = await iterator.next();
    const { type, response }: UnknownRecord = recordOf(next.value);
    if (type === "error") throwRefusal(next.value);
    if (type === "response.failed") throwRefusal(recordOf(response)["error"]);
    read.push(next);
    isStart = next.done !== true && (type === "response.created" || type === "response.in_progress");
  }
  const rest: AsyncIterator<unknown> = {
    next: async () => read.shift() ?? iterator.next(),
    return: async () => (await iterator.return?.()) ?? { done: true, value: undefined },
  };
  return { [Symbol.asyncIterator]: () => rest };
}

function throwRefusal(said: unknown): void {
  const error = toResponseError(said);
  if (error.code === "request-changed") throw Object.assign(new Error(error.message), error);
}
