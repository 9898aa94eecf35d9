import { type ConnectionHints, explainConnection } from "../shared/adapters/connection-hints.ts";
import { checkBody } from "../shared/adapters/open-answer.ts";
import type { Clock, Provider } from "../core/index.ts";
import { createMediaFitter } from "../shared/adapters/fit-media.ts";
import { createSdkProvider, isRecord, listOf, recordOf, withFinishReasons } from "../core/kit.ts";
import { reportTo } from "../shared/adapters/request-changes.ts";
import { EventTail } from "../shared/adapters/event-filter.ts";
import type { UnknownRecord } from "../shared/guards.ts";
import { parseJson } from "../shared/json.ts";
import { buildGenerateParams, createContentConverter, partMedia } from "./generate-body.ts";
import { createGenerateReader, generateWords } from "./generate-events.ts";
import {
  checkGenerateOptions,
  type GenerateContentParams,
  type GoogleGenAIClient,
  type GoogleGenerateContentOptions,
} from "./generate-options.ts";

/**
 * Creates a provider from a Google client, for the Gemini API or for Vertex AI. The provider uses the client's key, project, base URL
 * and `httpOptions` unchanged. The client does not retry unless its `httpOptions.retryOptions` is set.
 *
 * The stream ends with `finish` if the service sent a finish reason, or reported that the prompt was blocked. Otherwise the answer
 * is incomplete, and there is no `finish`. Errors that the SDK throws are passed on unchanged, except that errors about a wrong address
 * or a missing key say what to change.
 *
 * The parts of a finished message become `provider-metadata` chunks. The next request sends these parts back to the same model
 * unchanged: parts with thought signatures, and calls to tools that the service runs. If the message was edited or goes to another
 * model, only its text and calls are sent.
 *
 * If an answer reaches the limit of one request, the loop continues the answer with another request. The SDK's own continuation is
 * disabled, because it would ignore the limits of the run.
 *
 * Throws LoopError `invalid-option` or `unknown-option` if an option is invalid.
 *
 * @example
 * const provider = googleGenerateContent({ client: new GoogleGenAI({ apiKey }), model: "gemini-3-pro-preview" });
 *
 * @example
 * const provider = googleGenerateContent({
 *   client: new GoogleGenAI({ vertexai: true, project, location: "global" }),
 *   model: "gemini-3-flash-preview",
 *   thinking: { includeThoughts: true, thinkingLevel: "LOW" },
 *   streamArguments: true,
 * });
 */
export function googleGenerateContent(options: GoogleGenerateContentOptions): Provider {
  const settings = checkGenerateOptions(options);
  const convert = createContentConverter(settings);
  const fitMedia = createMediaFitter({ forms: partMedia, limits: settings.quirks.media, id: settings.id });
  const words = withFinishReasons(generateWords, options.finishReasons);
  const { client } = settings;
  return createSdkProvider({ ...settings, ...settings.quirks, structuresOutput: true }, (request, call, out) => {
    const tail = new EventTail();
    const open = async (signal: AbortSignal): Promise<unknown> => {
      const params = buildGenerateParams(fitMedia(request), { settings, convert, signal, report: reportTo(out) });
      const watched = watchFetch(client, params, { clock: call.clock, tail });
      call.sending?.(watched.params, settings);
      try {
        return await client.models.generateContentStream(watched.params);
      } catch (error) {
        throw watched.explain(error);
      }
    };
    const explain = (error: unknown): unknown => explainConnection(error, hints);
    return { open, reader: createGenerateReader(out, words, tail), explain };
  });
}

const hints: ConnectionHints = {
  address: "Check `httpOptions.baseUrl` and `apiVersion` of the client. The SDK appends the version, such as /v1.",
  key: "The Google client takes its key from `apiKey`, or else from the environment variable GEMINI_API_KEY or GOOGLE_API_KEY.",
};

type Fetch = typeof globalThis.fetch;

interface WatchedRequest {
  readonly params: GenerateContentParams;
  explain(error: unknown): unknown;
}

/**
 * Wraps the fetch function of the request. The body of an error response is converted to JSON, because the SDK parses the body
 * before it reads the status, and would throw a SyntaxError. If a successful response is not a stream, the wrapped fetch throws the
 * error that the response contains. If the client does not expose its fetch function, nothing is wrapped.
 */
function watchFetch(
  client: GoogleGenAIClient,
  params: GenerateContentParams,
  { clock, tail }: { readonly clock: Clock; readonly tail: EventTail },
): WatchedRequest {
  const own = readFetch(client, params);
  if (own === undefined) return { params, explain: (error) => error };
  let refused: Response | undefined;
  const watched: Fetch = async (input, init) => {
    refused = undefined;
    const response = await own(input, init);
    if (response.ok) return checkBody(response, { clock, watch: tail.watch, toEvents: toChunks });
    refused = response;
    return toReadable(response);
  };
  const httpOptions = { ...recordOf(recordOf(params.config).httpOptions), fetch: watched };
  return {
    params: { ...params, config: { ...params.config, httpOptions } },
    explain: (error) =>
      refused !== undefined && isRecord(error)
        ? Object.assign(error, { status: refused.status, headers: refused.headers })
        : error,
  };
}

function readFetch(client: object, { config }: GenerateContentParams): Fetch | undefined {
  const own: unknown = Reflect.get(client, "apiClient");
  if (!isRecord(own) || typeof own.getFetch !== "function") return undefined;
  const given: unknown = recordOf(recordOf(config).httpOptions).fetch ?? Reflect.apply(own.getFetch, own, []);
  return isFetch(given) ? given : fetchWithoutLimits;
}

function isFetch(value: unknown): value is Fetch {
  return typeof value === "function";
}

/** Node's fetch stores its dispatcher under this key. */
const dispatcherKey = Symbol.for("undici.globalDispatcher.1");

/** Node's fetch fails after 300 s of silence. The SDK disables this timeout only for requests without a custom fetch function. */
const fetchWithoutLimits: Fetch = (input, init) => {
  const dispatch = (options: object, handler: unknown): unknown => {
    const dispatcher = recordOf(Reflect.get(globalThis, dispatcherKey));
    const limits = { ...options, headersTimeout: 0, bodyTimeout: 0 };
    return typeof dispatcher.dispatch === "function" && Reflect.apply(dispatcher.dispatch, dispatcher, [limits, handler]);
  };
  const hasDispatcher = isRecord(Reflect.get(globalThis, dispatcherKey));
  const options = hasDispatcher ? { ...init, dispatcher: { dispatch } } : init;
  return fetch(input, options);
};

async function toReadable(response: Response): Promise<Response> {
  const { status, statusText, headers } = response;
  const text = await response.text();
  const parsed = parseJson(text);
  const isJson = isRecord(parsed) || Array.isArray(parsed);
  const body = isJson
    ? text
    : JSON.stringify({
        error: {
          code: status,
          message: text.trim() || statusText || `The service answered with the status ${status} and gave no reason.`,
        },
      });
  const plain = new Headers(headers);
  // Removes headers that describe the original body, because the new body is not compressed and has a different length.
  for (const name of ["content-encoding", "content-length"]) plain.delete(name);
  plain.set("content-type", "application/json");
  return new Response(body, { status: isError(status) ? status : 400, statusText, headers: plain });
}

/** True for an error status that a `Response` with a body can have, unlike 304 or 999. `explain` adds the original status to the error later. */
function isError(status: number): boolean {
  return status >= 400 && status <= 599;
}

/** Returns the chunks of an answer that is not a stream: one chunk, or the list that the API sends without `alt=sse`. */
function toChunks(answer: unknown): readonly UnknownRecord[] | undefined {
  const chunks = Array.isArray(answer) ? answer.map(recordOf) : [recordOf(answer)];
  return chunks.some(({ candidates }) => listOf(candidates).length > 0) ? chunks : undefined;
}
