import { describeBaseURL, explainConnection } from "../shared/adapters/connection-hints.ts";
import { createMediaFitter } from "../shared/adapters/fit-media.ts";
import { createSdkProvider, recordOf, withFinishReasons } from "../core/kit.ts";
import { openAnswer } from "../shared/adapters/open-answer.ts";
import type { Provider, ProviderError } from "../core/index.ts";
import type { UnknownRecord } from "../shared/guards.ts";
import { reportTo } from "../shared/adapters/request-changes.ts";
import { bindingBeta, refusesBinding, refusesDisplay } from "../services/anthropic.ts";
import { createMarker } from "./cache-marks.ts";
import { blockMedia, buildMessagesBody, createMessageConverter } from "./messages-body.ts";
import { createMessagesReader } from "./messages-events.ts";
import { createKeptThinking, leftOut } from "./kept-thinking.ts";
import {
  type AnthropicMessagesOptions,
  checkMessagesOptions,
  type MessagesRequestOptions,
  type MessagesSettings,
} from "./messages-options.ts";

/**
 * Creates a provider from an Anthropic client. The provider uses the client's key, base URL, proxy and retries unchanged. The client
 * retries failed connections and the statuses 408, 409, 429 and 5xx automatically: twice, unless its `maxRetries` is set. If your own
 * code also retries, the attempts multiply.
 *
 * The stream ends with `finish` if the service sent a stop reason. Without a stop reason, the answer is incomplete, and there
 * is no `finish`. Errors that the SDK throws are passed on unchanged, except that errors about a wrong address or a missing key say
 * what to change.
 *
 * The blocks of a finished message become `provider-metadata` chunks. The next request sends these blocks back to the same model
 * unchanged: thinking with its signature, calls to tools that the server runs and their results, and blocks of unknown types. If the
 * message was edited or goes to another model, only its text and calls are sent.
 *
 * With the `compaction` option, the service replaces old messages with a summary if the run has `compactMessages`. The summary is not part
 * of the text. The summary is sent back with its message, and the service then ignores everything before the summary. Requests still
 * contain the old messages, because a different model does not receive the summary and needs these messages. The usage includes the
 * summary's tokens.
 *
 * The `seed` setting is not sent, because the API has no field for it.
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
  const fitMedia = createMediaFitter({ forms: blockMedia, limits: settings.quirks.media, id: settings.id });
  const mark = settings.cacheControl && createMarker(settings.cacheControl);
  const kept = createKeptThinking();
  const words = withFinishReasons(new Map(), options.finishReasons);
  const { client, id, model, compaction, toolSearch } = settings;
  const abilities = { compacts: compaction !== undefined, searchesTools: toolSearch !== undefined };
  let { dropsUnfit } = settings;
  let hidesDisplay = false;
  const hints = {
    address: describeBaseURL(client, "The SDK appends /v1/messages."),
    key: "The Anthropic client takes its key from `apiKey`, or else from the environment variable ANTHROPIC_API_KEY.",
  };
  return createSdkProvider({ ...settings, ...settings.quirks, ...abilities }, (request, call, out) => {
    const report = reportTo(out);
    // Describes the latest version of the request, because the service may have refused earlier ones.
    let sent = { dropsUnfit, hidesDisplay, reasoned: request.messages };
    const send = async (signal: AbortSignal): Promise<unknown> => {
      // Uses `Date.now()` because Anthropic's containers expire at a wall-clock time, and `call.clock` may start at any number.
      const ports = { settings, convert, mark, kept, now: Date.now(), dropsUnfit, refusesDisplay: hidesDisplay, report };
      const body = buildMessagesBody(fitMedia(request), ports);
      sent = { dropsUnfit, hidesDisplay, reasoned: kept.listAccepted(request.messages) };
      call.sending?.(body, { id, model });
      const pending = client.messages.create(body, { signal, ...toHeaders(settings, dropsUnfit) });
      return openAnswer(pending, { clock: call.clock, named: true, toEvents: toMessageEvents });
    };
    /** Changes the request so that the service accepts it. Returns false if there is nothing to change. */
    const adapt = ({ code, message }: ProviderError): boolean => {
      if (code === "request-changed") {
        if (!kept.refuse(sent.reasoned)) return false;
        report(leftOut);
      } else if (sent.dropsUnfit && refusesBinding.test(message)) dropsUnfit = false;
      else if (!sent.hidesDisplay && refusesDisplay.test(message)) hidesDisplay = true;
      else return false;
      return true;
    };
    const explain = (error: unknown): unknown => explainConnection(error, hints);
    return { open: send, reader: createMessagesReader(out, words), adapt, adaptsReasoning: true, explain };
  });
}

/** Returns a request's headers. They repeat the client's betas, because the request's beta header replaces the client's. */
function toHeaders(
  { apiVersion, betas, clientBetas }: MessagesSettings,
  dropsUnfit: boolean,
): Pick<MessagesRequestOptions, "headers"> {
  const own = dropsUnfit ? [...betas, bindingBeta] : betas;
  if (own.length === 0 && apiVersion === undefined) return {};
  return {
    headers: {
      ...(apiVersion === undefined ? {} : { "anthropic-version": apiVersion }),
      ...(own.length === 0 ? {} : { "anthropic-beta": [...new Set([...clientBetas, ...own])].join(",") }),
    },
  };
}

/** Converts a whole message to stream events. */
function toMessageEvents(message: unknown): readonly UnknownRecord[] | undefined {
  if (recordOf(message).type !== "message") return undefined;
  return [{ type: "message_start", message }, { type: "message_stop" }];
}
