// Reads the body of a request as JSON, up to a maximum size.

import { isRecord } from "../utils/guards.ts";
import { RequestError } from "./request-error.ts";

/** The parts of a node:http request that are used. */
export interface NodeRequest extends AsyncIterable<Uint8Array | string> {
  readonly headers: { readonly [name: string]: string | readonly string[] | undefined };
  /** With `destroyOnReturn: false`, ending the iteration early keeps the connection open, so that the response can still be sent. */
  iterator?(options: { destroyOnReturn: boolean }): AsyncIterable<Uint8Array | string>;
}

/** The maximum nesting of arrays and objects. JSON.parse allows millions of levels, which would overflow the stack of recursive code. */
const mostLevels = 200;

/**
 * Reads the body of a web `Request` or a node:http request. A string is parsed as JSON. Any other value is returned unchanged, as an
 * already parsed body. Throws RequestError if the body is invalid or has more than `maxBytes` bytes. Default 1,000,000.
 */
export async function readRequestBody(source: unknown, maxBytes = 1_000_000): Promise<unknown> {
  const body = await toValue(source, maxBytes);
  if (isTooDeep(body)) throw new RequestError(400, `The body is nested more than ${mostLevels} levels deep.`);
  return body;
}

async function toValue(source: unknown, maxBytes: number): Promise<unknown> {
  if (typeof source === "string") return parse(source, maxBytes);
  if (isWebRequest(source)) {
    checkHeaders((name) => source.headers.get(name) ?? undefined, maxBytes);
    return parse(source.body === null ? "" : await collect(readAll(source.body), maxBytes), maxBytes);
  }
  if (isNodeRequest(source)) {
    checkHeaders((name) => textOf(source.headers[name]), maxBytes);
    return parse(await collect(source.iterator?.({ destroyOnReturn: false }) ?? source, maxBytes), maxBytes);
  }
  checkSize(source, maxBytes);
  return source;
}

function checkHeaders(read: (name: string) => string | undefined, maxBytes: number): void {
  const type = read("content-type")?.split(";")[0]?.trim().toLowerCase();
  // A form on another site could send other content types without a CORS check of the browser.
  if (type !== "application/json") throw new RequestError(415, "The request must have the content type application/json.");
  const encoding = read("content-encoding");
  if (encoding !== undefined && encoding !== "identity") throw new RequestError(415, "The request must not be compressed.");
  if (Number(read("content-length") ?? 0) > maxBytes) throw tooLarge(maxBytes);
}

async function collect(pieces: AsyncIterable<Uint8Array | string>, maxBytes: number): Promise<string> {
  const decoder = new TextDecoder();
  const encoder = new TextEncoder();
  let text = "";
  let bytes = 0;
  for await (const piece of pieces) {
    const read = typeof piece === "string" ? encoder.encode(piece) : piece;
    bytes += read.byteLength;
    if (bytes > maxBytes) throw tooLarge(maxBytes);
    text += decoder.decode(read, { stream: true });
  }
  return text + decoder.decode();
}

/** Reads a web stream with a reader, because not every platform supports `for await` on web streams. */
async function* readAll(stream: ReadableStream<Uint8Array>): AsyncGenerator<Uint8Array, void> {
  const reader = stream.getReader();
  try {
    for (let read = await reader.read(); !read.done; read = await reader.read()) yield read.value;
  } finally {
    await reader.cancel().catch(() => undefined);
  }
}

function parse(text: string, maxBytes: number): unknown {
  // Each character has at least one byte, so the number of characters is a lower bound.
  if (text.length > maxBytes) throw tooLarge(maxBytes);
  try {
    return JSON.parse(text) as unknown;
  } catch (error) {
    throw new RequestError(400, "The body is not valid JSON.", { cause: error });
  }
}

function checkSize(body: unknown, maxBytes: number): void {
  let length: number;
  try {
    length = JSON.stringify(body)?.length ?? 0;
  } catch (error) {
    throw new RequestError(400, "The body is not plain JSON data.", { cause: error });
  }
  if (length > maxBytes) throw tooLarge(maxBytes);
}

function tooLarge(maxBytes: number): RequestError {
  return new RequestError(413, `The body has more than ${maxBytes} bytes.`);
}

/** True if a body is nested too deeply. Searches level by level, because recursion could overflow the stack. */
function isTooDeep(body: unknown): boolean {
  let level: readonly unknown[] = [body];
  for (let depth = 0; level.length > 0; depth += 1) {
    if (depth > mostLevels) return true;
    level = level.flatMap((value): unknown[] => (typeof value === "object" && value !== null ? Object.values(value) : []));
  }
  return false;
}

function isWebRequest(value: unknown): value is Pick<Request, "headers" | "body"> {
  return isRecord(value) && isRecord(value.headers) && typeof value.headers.get === "function" && "body" in value;
}

function isNodeRequest(value: unknown): value is NodeRequest {
  return typeof value === "object" && value !== null && Symbol.asyncIterator in value && "headers" in value;
}

function textOf(header: string | readonly string[] | undefined): string | undefined {
  return typeof header === "object" ? header[0] : header;
}
