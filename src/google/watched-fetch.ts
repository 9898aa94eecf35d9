// Reads what the Google SDK does not pass on: the headers of an error, its status if the body is not JSON, and the body of a
// response that is not a stream.

import { checkBody, type Clock, isRecord, parseJson, recordOf } from "../core/provider-kit.ts";
import type { GenerateContentParams, GoogleGenAIClient } from "./generate-options.ts";

type Fetch = typeof globalThis.fetch;

/** A request whose responses are observed. */
interface WatchedRequest {
  readonly params: GenerateContentParams;
  /** Adds the status and the headers of the response to an error of the SDK. */
  explain(error: unknown): unknown;
}

/**
 * Adds a fetch to the request that passes on the responses of the caller's own fetch, with two changes. The body of an error is
 * always JSON, because the SDK parses it before it reads the status, and would throw a SyntaxError. A response that is not a
 * stream throws the error that it contains. A client that does not expose its fetch is not changed.
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

/** Undefined for a client of another kind, whose requests accept no fetch. */
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

/** The SDK disables Node's 300 s limits on silence only for requests without a fetch. */
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

/** Converts an error that cannot be parsed to the JSON form of the service. */
async function toReadable(response: Response): Promise<Response> {
  const { status, statusText, headers } = response;
  const text = await response.text();
  const parsed = parseJson(text);
  const isJson = isRecord(parsed) || Array.isArray(parsed);
  const body = isJson
    ? text
    : JSON.stringify({ error: { code: status, message: text.trim() || statusText || `Status ${status}` } });
  const plain = new Headers(headers);
  // The body has changed.
  for (const name of ["content-encoding", "content-length"]) plain.delete(name);
  plain.set("content-type", "application/json");
  return new Response(body, { status: isError(status) ? status : 400, statusText, headers: plain });
}

/**
 * True for an error that is rewritten. A Response cannot have a body and a status such as 304 or 999, so those are added to the
 * error instead.
 */
function isError(status: number): boolean {
  return status >= 400 && status <= 599;
}
