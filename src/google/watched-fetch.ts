// The Google SDK hides details of failed responses: the headers of an error, the status of an error without a JSON body, and the
// body of a response that is not a stream. A wrapped fetch function reads these details.

import { checkBody, type Clock, isRecord, parseJson, recordOf } from "../core/provider-kit.ts";
import type { GenerateContentParams, GoogleGenAIClient } from "./generate-options.ts";

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
    : JSON.stringify({ error: { code: status, message: text.trim() || statusText || `Status ${status}` } });
  const plain = new Headers(headers);
  // The new body is not compressed and has another length.
  for (const name of ["content-encoding", "content-length"]) plain.delete(name);
  plain.set("content-type", "application/json");
  return new Response(body, { status: isError(status) ? status : 400, statusText, headers: plain });
}

/** A `Response` with a body cannot have a status such as 304 or 999. `explain` adds the original status to the error later. */
function isError(status: number): boolean {
  return status >= 400 && status <= 599;
}
