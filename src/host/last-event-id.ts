/** A web `Request` or an `IncomingMessage` of node:http. */
export interface EventRequest {
  readonly url?: string | undefined;
  readonly headers: { get(name: string): string | null } | { readonly [name: string]: string | readonly string[] | undefined };
}

const longestId = 100;

/**
 * Returns the id of the last event that a reconnecting page has, for the option `from` of `host.join`. Reads the header
 * `Last-Event-ID`, which an `EventSource` sends. Without this header, reads the query parameter `offset` of the URL. Returns
 * undefined without an id, for an id of more than 100 characters, and for the id `-1`, which requests all events.
 *
 * @example const events = host.join(id, { from: lastEventId(request) });
 */
export function lastEventId({ headers, url = "" }: EventRequest): string | undefined {
  const given = typeof headers.get === "function" ? headers.get("last-event-id") : readHeader(headers, "last-event-id");
  const id = given === undefined || given === null || given === "" ? readOffset(url) : given;
  return typeof id !== "string" || id === "" || id === "-1" || id.length > longestId ? undefined : id;
}

function readHeader(headers: object, name: string): unknown {
  return Object.hasOwn(headers, name) ? Reflect.get(headers, name) : undefined;
}

function readOffset(url: string): string | null {
  const start = url.indexOf("?");
  return start < 0 ? null : new URLSearchParams(url.slice(start).split("#")[0]).get("offset");
}
