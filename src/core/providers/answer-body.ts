// Finds responses with status 200 that are not a stream, such as an error in JSON or an HTML page from a proxy. SDKs find no
// events in such a response, and report no error.

import type { Clock } from "../types/common.ts";
import { dropPromise } from "../utils/promises.ts";
import { isRecord } from "../utils/guards.ts";
import { Lull } from "../utils/promises.ts";
import { providerError, toProviderError } from "../errors/provider-error.ts";

/**
 * Waits for the stream of an SDK. Some SDKs, such as those of OpenAI and Anthropic, also give access to the response. For these
 * SDKs, checks the first bytes of the response, and throws a provider error if the bytes are not the beginning of an event
 * stream.
 */
export async function openAnswer(pending: unknown, clock: Clock): Promise<unknown> {
  if (!isRecord(pending) || typeof pending.withResponse !== "function") return pending;
  // In a wrapper, for example, `withResponse()` may return a promise other than `pending`. Nothing then awaits `pending`, and an
  // unhandled rejection of `pending` would end the process.
  dropPromise(pending);
  const answer: unknown = await Reflect.apply(pending.withResponse, pending, []);
  if (!isRecord(answer) || !("data" in answer)) return pending;
  const { data, response } = answer;
  const maker = isRecord(data) ? Reflect.get(data, "constructor") : undefined;
  // Checks the body only if the SDK can make a new stream from the checked response, because reading the body consumes the body.
  if (!isStreamMaker(maker) || !(response instanceof Response)) return data;
  const checked = await checkBody(response, clock);
  return checked === response ? data : maker.fromSSEResponse(checked, Reflect.get(Object(data), "controller"));
}

interface StreamMaker {
  fromSSEResponse(response: Response, controller: unknown): unknown;
}

function isStreamMaker(value: unknown): value is StreamMaker {
  return typeof value === "function" && typeof Reflect.get(value, "fromSSEResponse") === "function";
}

/**
 * Checks the first bytes of a response, and returns a response with the same body. Throws a provider error if the body is not a
 * stream of events.
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
      throw errorInBody("only blank characters");
    }
  }
  const { status, statusText, headers } = response;
  const isStream = text === "" || (isTyped ? !isOtherText(text) : isEventText(text));
  if (isStream) return new Response(joinBody(read, reader), { status, statusText, headers });
  throw errorInBody((text + (await readRest({ reader, decoder }, longestText - text.length, clock))).trim());
}

/** Some proxies send blank bytes to keep a connection open. */
const mostBlanks = 65_536;

/** One byte is added for each chunk, so that an endless series of empty chunks also reaches the limit. */
function sizeOf(piece: Uint8Array): number {
  return piece.length + 1;
}

function isEventText(text: string): boolean {
  return /^(?:data|event|id|retry)?:|^(?:data|event|id|retry|d|da|dat|e|ev|eve|even|i|r|re|ret|retr)$/.test(text);
}

/** True for JSON and markup, which some services send with the content type of an event stream. */
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

const longestText = 100_000;

/** How long to wait for the rest of an error text, in milliseconds. Limited, because the service may keep the connection open. */
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

/** Makes a provider error that is also an instance of Error, because SDKs pass only such errors on unchanged. */
function errorInBody(text: string): Error {
  const said = toProviderError({ message: text });
  const isUnread = said.message === text || /^\s*[[{]/.test(said.message);
  const error = isUnread ? providerError(said.code, `The service sent no stream: ${text}`, said) : said;
  return Object.assign(new Error(error.message), error);
}
