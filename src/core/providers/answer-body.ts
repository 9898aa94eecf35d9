// Handles a service that returns status 200 without a stream: an error as JSON, or the page of a proxy. The SDKs find no events
// in it and report nothing.

import type { Clock } from "../types/common.ts";
import { dropPromise } from "../utils/promises.ts";
import { isRecord } from "../utils/guards.ts";
import { Lull } from "../cancellation/deadline.ts";
import { providerError, toProviderError } from "../errors/provider-error.ts";

/**
 * Waits for the stream of an SDK. If the SDK also gives access to the response, as those of OpenAI and Anthropic do, its first
 * bytes are checked. Throws the error of the service if they are not events.
 */
export async function openAnswer(pending: unknown, clock: Clock): Promise<unknown> {
  if (!isRecord(pending) || typeof pending.withResponse !== "function") return pending;
  // Clients that wrap an SDK may return a separate promise. Its unhandled rejection would end the process.
  dropPromise(pending);
  const answer: unknown = await Reflect.apply(pending.withResponse, pending, []);
  if (!isRecord(answer) || !("data" in answer)) return pending;
  const { data, response } = answer;
  const maker = isRecord(data) ? Reflect.get(data, "constructor") : undefined;
  // Without a stream class, nothing could replace the body after it was read.
  if (!isStreamMaker(maker) || !(response instanceof Response)) return data;
  const checked = await checkBody(response, clock);
  return checked === response ? data : maker.fromSSEResponse(checked, Reflect.get(Object(data), "controller"));
}

/** The stream class of an SDK. */
interface StreamMaker {
  fromSSEResponse(response: Response, controller: unknown): unknown;
}

function isStreamMaker(value: unknown): value is StreamMaker {
  return typeof value === "function" && typeof Reflect.get(value, "fromSSEResponse") === "function";
}

/**
 * Checks the first bytes of a response, and returns a response with the same body. Throws a provider error if the body is not a
 * stream of events, even with status 200.
 */
export async function checkBody(response: Response, clock: Clock): Promise<Response> {
  if (response.body === null) return response;
  const isTyped = /event-stream/i.test(response.headers.get("content-type") ?? "");
  const reader = response.body.getReader();
  const read: Uint8Array[] = [];
  const decoder = new TextDecoder();
  const lull = new Lull();
  let text = "";
  let size = 0;
  while (text === "") {
    const { done, value } = await reader.read();
    if (done) break;
    read.push(value);
    size += sizeOf(value);
    text = decoder.decode(value, { stream: true }).trimStart();
    await lull.note(text !== "");
    if (text === "" && size > mostBlanks) {
      reader.cancel().catch(() => {});
      throw errorInBody("nothing but blanks");
    }
  }
  const { status, statusText, headers } = response;
  const isStream = text === "" || (isTyped ? !isOtherText(text) : isEventText(text));
  if (isStream) return new Response(joinBody(read, reader), { status, statusText, headers });
  throw errorInBody((text + (await readRest({ reader, decoder }, longestText - text.length, clock))).trim());
}

/** Most blank bytes before a service counts as silent. Proxies send some to keep a connection open. */
const mostBlanks = 65_536;

/** The size of a piece. Adds 1, so that empty pieces count too. */
function sizeOf(piece: Uint8Array): number {
  return piece.length + 1;
}

/** True if a text may be the beginning of events: their fields and comments, not JSON or markup. */
function isEventText(text: string): boolean {
  return /^(?:data|event|id|retry)?:|^(?:data|event|id|retry|d|da|dat|e|ev|eve|even|i|r|re|ret|retr)$/.test(text);
}

/** True if a text is JSON or markup, which some services send with the content type of a stream. */
function isOtherText(text: string): boolean {
  return /^[[{<]/.test(text);
}

function joinBody(read: readonly Uint8Array[], reader: ReadableStreamDefaultReader<Uint8Array>): ReadableStream<Uint8Array> {
  return new ReadableStream<Uint8Array>({
    start(controller) {
      for (const bytes of read) controller.enqueue(bytes);
    },
    async pull(controller) {
      const { done, value } = await reader.read();
      if (done) controller.close();
      else controller.enqueue(value);
    },
    cancel: (reason) => reader.cancel(reason),
  });
}

/** Longest error text, in characters. */
const longestText = 100_000;

/** Longest wait for the rest of an error, in milliseconds. Its connection may stay open. */
const longestRestMs = 1_000;

async function readRest(
  { reader, decoder }: { readonly reader: ReadableStreamDefaultReader<Uint8Array>; readonly decoder: TextDecoder },
  longest: number,
  clock: Clock,
): Promise<string> {
  let giveUp: () => void = () => {};
  const late = new Promise<undefined>((resolve) => (giveUp = () => resolve(undefined)));
  const timer = clock.setTimeout(giveUp, longestRestMs);
  let text = "";
  let size = 0;
  try {
    while (size < longest) {
      const piece = await Promise.race([reader.read(), late]);
      if (piece?.done === true) return text;
      if (piece === undefined) break;
      size += sizeOf(piece.value);
      text += decoder.decode(piece.value, { stream: true });
    }
  } finally {
    clock.clearTimeout(timer);
  }
  reader.cancel().catch(() => {});
  return text;
}

/** Returns an Error instance, because SDKs pass nothing else on unchanged. */
function errorInBody(text: string): Error {
  const said = toProviderError({ message: text });
  const isUnread = said.message === text || /^\s*[[{]/.test(said.message);
  const error = isUnread ? providerError(said.code, `The service answered without a stream: ${text}`, said) : said;
  return Object.assign(new Error(error.message), error);
}
