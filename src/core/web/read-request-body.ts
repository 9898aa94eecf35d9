// The body of a request as JSON, within a limit.

import { isRecord } from "../utils/guards.ts";
import { RequestError } from "./request-error.ts";

/** A request of node:http, as far as it is used. */
export interface NodeRequest extends AsyncIterable<Uint8Array | string> {
  readonly headers: { readonly [name: string]: string | readonly string[] | undefined };
  /** Iterates without destroying the connection when the reader leaves, so that the response can still be sent. */
  iterator?(options: { destroyOnReturn: boolean }): AsyncIterable<Uint8Array | string>;
}

/** Arrays and objects inside each other. JSON.parse allows millions, and code that walks them by recursion fails. */
const mostLevels = 200;

/** Reads the body of a web `Request` or of a request of node:http. A text is parsed, and any other value is taken as it is. */
export async function readRequestBody(source: unknown, maxBytes = 1_000_000): Promise<unknown> {
  const body = await toValue(source, maxBytes);
  if (isTooDeep(body)) throw new RequestError(400, `The body is nested in more than ${mostLevels} levels.`);
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
  // Other types could be sent by a form of another site without asking the browser.
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

/** Reads a web stream. Not every platform can iterate one. */
async function* readAll(stream: ReadableStream<Uint8Array>): AsyncGenerator<Uint8Array, void> {
  const reader = stream.getReader();
  try {
    for (let read = await reader.read(); !read.done; read = await reader.read()) yield read.value;
  } finally {
    await reader.cancel().catch(() => undefined);
  }
}

function parse(text: string, maxBytes: number): unknown {
  // A character has at least one byte.
  if (text.length > maxBytes) throw tooLarge(maxBytes);
  try {
    return JSON.parse(text) as unknown;
  } catch (error) {
    throw new RequestError(400, "The body is not valid JSON.", { cause: error });
  }
}

/** Checks a body that somebody else has parsed. */
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

/** Walks without recursion, level by level. */
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
