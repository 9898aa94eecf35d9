// Reads the body of a web page's request. Limits its length and depth, and the time it may take to arrive, because the page is not trusted.

import { systemClock } from "../shared/signals.ts";
import { type Clock, LoopError } from "../core/index.ts";
import { hasBrand, isRecord } from "../shared/guards.ts";
import { dropIterator } from "../shared/promises.ts";
import { withinTime } from "../shared/repeat-failed.ts";
import { countBytes } from "../shared/estimate-tokens.ts";

const brand = Symbol.for("turnwright.RequestError");

/**
 * The error that `readUIChatRequest` and `readAGUIRequest` throw for an invalid request. `status` is the HTTP status for the
 * response: 400 for an invalid body, 403 for a decision that `allowDecisions` forbids, 408 for a body that takes too long, 413 for a body that is too large, and 415 for a type that is
 * not allowed. You can send the message to the page, because it never quotes the body.
 */
export class RequestError extends Error {
  override readonly name = "RequestError";
  readonly status: 400 | 403 | 408 | 413 | 415;

  constructor(status: RequestError["status"], message: string, options?: ErrorOptions) {
    super(message, options);
    this.status = status;
    Object.defineProperty(this, brand, { value: true });
  }
}

/**
 * True if a value is a RequestError from this or another copy of the package.
 *
 * @example if (isRequestError(error)) return new Response(error.message, { status: error.status });
 */
export function isRequestError(value: unknown): value is RequestError {
  return hasBrand(value, brand);
}

/** The parts of a node:http request that `readRequestBody` needs. */
export interface NodeRequest extends AsyncIterable<Uint8Array | string> {
  readonly headers: { readonly [name: string]: string | readonly string[] | undefined };
  /**
   * Returns an iterator. With `destroyOnReturn: false`, the connection stays open if the iteration ends early, so that a response can be
   * sent.
   */
  iterator?(options: { destroyOnReturn: boolean }): AsyncIterable<Uint8Array | string>;
  /** True if other code has read the request, such as `express.json()`. */
  readonly readableDidRead?: boolean | undefined;
  /** The body that other code has read. */
  readonly body?: unknown;
}

/**
 * The maximum nesting depth of arrays and objects. JSON.parse allows millions of levels, and recursive code would overflow the stack on
 * such a body.
 */
const maxLevels = 200;

/** The limits for a request body. */
export interface BodyLimits {
  /** The maximum size of the body in bytes. Web pages send their whole history in each request. Default 1,000,000. */
  readonly maxBytes?: number | undefined;
  /** The maximum time until the whole body has arrived, in milliseconds. `Infinity` means no limit. Default 30,000. */
  readonly bodyMs?: number | undefined;
  /** The clock for `bodyMs`. Default: the system clock. */
  readonly clock?: Pick<Clock, "setTimeout" | "clearTimeout"> | undefined;
}

type Limits = { readonly [Name in keyof BodyLimits]-?: NonNullable<BodyLimits[Name]> };

/**
 * Reads the body of a web `Request` or a node:http request. Parses a string as JSON, and returns any other value unchanged, assuming that
 * it is already parsed. Throws RequestError if the body is invalid or incomplete, or exceeds a limit. Throws LoopError "invalid-option" if
 * other code has read the body and not kept it.
 */
export async function readRequestBody(source: unknown, limits: BodyLimits = {}): Promise<unknown> {
  const { maxBytes = 1_000_000, bodyMs = 30_000, clock = systemClock } = limits;
  const body = await toValue(source, { maxBytes, bodyMs, clock });
  refuseDeep(body, "The request body");
  return body;
}

export function refuseDeep(value: unknown, what: string): void {
  if (isTooDeep(value)) throw new RequestError(400, `${what} is nested more than ${maxLevels} levels deep.`);
}

async function toValue(source: unknown, limits: Limits): Promise<unknown> {
  const { maxBytes } = limits;
  if (typeof source === "string") {
    if (countBytes(source) > maxBytes) throw tooLarge(maxBytes);
    return parse(source);
  }
  if (isWebRequest(source)) {
    checkHeaders((name) => source.headers.get(name) ?? undefined, maxBytes);
    if (source.bodyUsed || source.body?.locked === true) throw alreadyRead();
    return parse(source.body === null ? "" : await collect(toIterator(source.body), limits));
  }
  if (isNodeRequest(source)) {
    checkHeaders((name) => textOf(source.headers[name]), maxBytes);
    if (source.readableDidRead === true) return readKept(source.body, maxBytes);
    const pieces = source.iterator?.({ destroyOnReturn: false }) ?? source;
    return parse(await collect(pieces[Symbol.asyncIterator](), limits));
  }
  checkSize(source, maxBytes);
  return source;
}

/** Reads the body that a parser such as `express.json()` has put into the request. */
function readKept(body: unknown, maxBytes: number): unknown {
  if (!isRecord(body)) throw alreadyRead();
  checkSize(body, maxBytes);
  return body;
}

function alreadyRead(): LoopError {
  const expected = "a request with an unread body, or the parsed body";
  return new LoopError("invalid-option", { option: "requestOrBody", expected, received: "a request whose body has been read" });
}

function checkHeaders(read: (name: string) => string | undefined, maxBytes: number): void {
  const type = read("content-type")?.split(";")[0]?.trim().toLowerCase();
  // Requires JSON, because a form on another site could send other content types without a CORS check.
  if (type !== "application/json") throw new RequestError(415, "The request must have the content type application/json.");
  const encoding = read("content-encoding");
  if (encoding !== undefined && encoding !== "identity") throw new RequestError(415, "The request must not be compressed.");
  if (Number(read("content-length") ?? 0) > maxBytes) throw tooLarge(maxBytes);
}

type Pieces = Pick<AsyncIterator<Uint8Array | string, unknown>, "next" | "return">;

async function collect(pieces: Pieces, { maxBytes, bodyMs, clock }: Limits): Promise<string> {
  const toError = (): Error => new RequestError(408, `The request body took longer than ${bodyMs} ms to arrive.`);
  try {
    return await withinTime(readAll(pieces, maxBytes), { ms: bodyMs, clock, toError });
  } catch (error) {
    dropIterator(pieces);
    if (error instanceof RequestError) throw error;
    throw new RequestError(400, "The connection closed before the request body was complete.", { cause: error });
  }
}

async function readAll(pieces: Pieces, maxBytes: number): Promise<string> {
  const decoder = new TextDecoder();
  const encoder = new TextEncoder();
  let text = "";
  let bytes = 0;
  for (let next = await pieces.next(); next.done !== true; next = await pieces.next()) {
    const piece = next.value;
    const read = typeof piece === "string" ? encoder.encode(piece) : piece;
    bytes += read.byteLength;
    if (bytes > maxBytes) throw tooLarge(maxBytes);
    text += decoder.decode(read, { stream: true });
  }
  return text + decoder.decode();
}

/** Iterates over a stream with a reader, because not all platforms support `for await` on web streams. */
function toIterator(stream: ReadableStream<Uint8Array>): Pieces {
  const reader = stream.getReader();
  return {
    next: () => reader.read(),
    return: async () => ({ done: true, value: await reader.cancel() }),
  };
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch (error) {
    throw new RequestError(400, "The request body is not valid JSON.", { cause: error });
  }
}

function checkSize(body: unknown, maxBytes: number): void {
  let bytes: number;
  try {
    bytes = countBytes(JSON.stringify(body) ?? "");
  } catch (error) {
    throw new RequestError(400, "The request body is not plain JSON data.", { cause: error });
  }
  if (bytes > maxBytes) throw tooLarge(maxBytes);
}

function tooLarge(maxBytes: number): RequestError {
  return new RequestError(413, `The request body has more than ${maxBytes} bytes.`);
}

/** True if the body is nested too deeply. Searches level by level, because recursion could overflow the stack. */
function isTooDeep(body: unknown): boolean {
  let level: readonly unknown[] = [body];
  for (let depth = 0; level.length > 0; depth += 1) {
    if (depth > maxLevels) return true;
    level = level.flatMap((value): unknown[] => (typeof value === "object" && value !== null ? Object.values(value) : []));
  }
  return false;
}

function isWebRequest(value: unknown): value is Pick<Request, "headers" | "body" | "bodyUsed"> {
  return isRecord(value) && isRecord(value.headers) && typeof value.headers.get === "function" && "body" in value;
}

function isNodeRequest(value: unknown): value is NodeRequest {
  return typeof value === "object" && value !== null && Symbol.asyncIterator in value && "headers" in value;
}

function textOf(header: string | readonly string[] | undefined): string | undefined {
  return typeof header === "object" ? header[0] : header;
}
