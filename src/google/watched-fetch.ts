// Reads what the Google SDK does not pass on: the headers of an error, its status if the body is no JSON, and the body of an answer that is no
// stream.

import { checkBody, type Clock, isRecord, parseJson, recordOf } from "../core/provider-kit.ts";
import type { GenerateContentParams, GoogleGenAIClient } from "./generate-options.ts";

type Fetch = typeof globalThis.fetch;

/** A request whose answers are watched. */
interface WatchedRequest {
  readonly params: GenerateContentParams;
  /** Adds the status and the headers of the answer to an error of the SDK. */
  explain(error: unknown): unknown;
}

/**
 * Puts a fetch into the request that hands on what the caller's own fetch gives, with two changes. The body of an error is always JSON: the
 * SDK parses it before it looks at the status, and throws a SyntaxError without one. An answer that is no stream throws what
 * it says. A client that does not tell its fetch is left alone.
 */
export function watchFetch(client: GoogleGenAIClient, params: GenerateContentParams, clock: Clock): WatchedRequest {
  const own = readFetch(client, params);
  if (own === undefined) return { params, explain: (error) => error };
  let refused: Response | undefined;
  const watched: Fetch = async (input, init) => {
    refused = undefined;
    const response = await own(input, init);
    if (response.ok) return checkBody(response, clock);
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

/** Undefined for a client of another kind, whose requests know no fetch. */
function readFetch(client: object, { config }: GenerateContentParams): Fetch | undefined {
  const own: unknown = Reflect.get(client, "apiClient");
  if (!isRecord(own) || typeof own.getFetch !== "function") return undefined;
  const given: unknown = recordOf(recordOf(config).httpOptions).fetch ?? Reflect.apply(own.getFetch, own, []);
  return isFetch(given) ? given : fetchWithoutLimits;
}

function isFetch(value: unknown): value is Fetch {
  return typeof value === "function";
}

/** The dispatcher of Node's fetch. */
const dispatcherKey = Symbol.for("undici.globalDispatcher.1");

/** The SDK lifts Node's own limits of 300 s on silence only for requests without a fetch. */
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

/** The words of an error that cannot be parsed, in the form that the service has for them. */
async function toReadable(response: Response): Promise<Response> {
  const { status, statusText, headers } = response;
  const text = await response.text();
  const parsed = parseJson(text);
  const isJson = isRecord(parsed) || Array.isArray(parsed);
  const body = isJson
    ? text
    : JSON.stringify({ error: { code: status, message: text.trim() || statusText || `Status ${status}` } });
  const plain = new Headers(headers);
  // The body is no longer as it was sent.
  for (const name of ["content-encoding", "content-length"]) plain.delete(name);
  plain.set("content-type", "application/json");
  return new Response(body, { status: isError(status) ? status : 400, statusText, headers: plain });
}

/** No Response can be made with a body and a status such as 304 or 999. Its own status is added to the error. */
function isError(status: number): boolean {
  return status >= 400 && status <= 599;
}
