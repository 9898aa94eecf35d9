// Opens an SDK's stream, and checks that the service has sent a stream of events. If it has sent a whole answer instead, reads that.

import type { Clock } from "../../core/types/common.ts";
import { providerError } from "../errors/provider-error.ts";
import { toProviderError } from "../errors/read-sdk-error.ts";
import { isRecord, type UnknownRecord } from "../guards.ts";
import { parseJson } from "../json.ts";
import { textOf } from "../plain-error.ts";
import { dropPromise, Lull } from "../promises.ts";
import { EventFilter } from "./event-filter.ts";

type ByteWatcher = (bytes: Uint8Array) => void;

/** How to read the body of a response. */
export interface BodyReading {
  readonly clock: Clock;
  /** Receives all bytes of a stream. */
  readonly watch?: ByteWatcher | undefined;
  /** True if the SDK reads only events with a name. The name of an event is then taken from the `type` in its data. */
  readonly named?: boolean | undefined;
  /**
   * Converts a body without events to the events of a stream, or returns undefined if the body is not an answer. Some servers and gateways
   * answer with JSON although the request asks for a stream (github.com/eosphoros-ai/DB-GPT/issues/2126,
   * github.com/decolua/9router/issues/3492).
   */
  toEvents(answer: unknown): readonly UnknownRecord[] | undefined;
}

/**
 * Waits for an SDK's stream. Some SDKs, such as those from OpenAI and Anthropic, also provide access to the response. For these SDKs,
 * checks the first bytes of the response, and throws a provider error if they are neither the beginning of an event stream nor a whole
 * answer. Events without data are removed.
 */
export async function openAnswer(pending: unknown, reading: BodyReading): Promise<unknown> {
  if (!isRecord(pending) || typeof pending.withResponse !== "function") return pending;
  // Nothing awaits `pending` if `withResponse()` returns another promise, as SDK wrappers may do. Its rejection would then end the process.
  dropPromise(pending);
  const answer: unknown = await Reflect.apply(pending.withResponse, pending, []);
  if (!isRecord(answer) || !("data" in answer)) return pending;
  const { data, response } = answer;
  const maker = isRecord(data) ? Reflect.get(data, "constructor") : undefined;
  // Checking consumes the original body, so it is checked only if the SDK can build a new stream from the checked response.
  if (!isStreamMaker(maker) || !(response instanceof Response)) return data;
  const checked = await checkBody(response, reading);
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
 * stream of events. For example, the body may be an error in JSON, or an HTML page from a proxy, with status 200. SDKs find no
 * events in such a body, and report no error.
 */
export async function checkBody(response: Response, reading: BodyReading): Promise<Response> {
  const { clock, watch = () => {}, named = false, toEvents } = reading;
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
    watch(value);
    size += sizeOf(value);
    text = decoder.decode(value, { stream: true }).trimStart();
    await lull.note(text !== "");
    if (text === "" && size > maxBlanks) {
      reader.cancel().catch(() => {});
      throw errorInBody("only blank characters");
    }
  }
  const { status, statusText, headers } = response;
  const isStream = text === "" || (isTyped ? !isOtherText(text) : isEventText(text));
  if (isStream) return new Response(joinBody(read, reader, { watch, named }), { status, statusText, headers });
  const rest = await readRest({ reader, decoder }, maxTextLength - text.length, clock);
  return toStream((text + rest).trim(), toEvents);
}

/** Returns a stream with the events of a whole answer. Throws a provider error if the text is not an answer. */
function toStream(whole: string, toEvents: BodyReading["toEvents"]): Response {
  // A gateway may append the end of a stream to a whole answer.
  const events = toEvents(parseJson(whole.replace(/\s*data: ?\[DONE\]$/, "")));
  if (events === undefined) throw errorInBody(whole);
  return new Response(events.map(writeEvent).join(""), { headers: { "content-type": "text/event-stream" } });
}

function writeEvent(event: UnknownRecord): string {
  const name = textOf(event.type);
  return `${name === "" ? "" : `event: ${name}\n`}data: ${JSON.stringify(event)}\n\n`;
}

/** The maximum number of blank bytes before an answer. Some proxies send them to keep a connection open. */
const maxBlanks = 65_536;

/** Returns the size of a chunk, plus one byte, so that an endless series of empty chunks also reaches the limit. */
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

function joinBody(
  read: readonly Uint8Array[],
  reader: ReadableStreamDefaultReader<Uint8Array>,
  { watch, named }: { readonly watch: ByteWatcher; readonly named: boolean },
): ReadableStream<Uint8Array> {
  const filter = new EventFilter(named);
  const lull = new Lull();
  return new ReadableStream<Uint8Array>({
    start(controller) {
      for (const bytes of read.flatMap((piece) => filter.take(piece))) controller.enqueue(bytes);
    },
    async pull(controller) {
      let pieces: readonly Uint8Array[] = [];
      while (pieces.length === 0) {
        const { done, value } = await reader.read();
        if (!done) watch(value);
        pieces = done ? filter.end() : filter.take(value);
        for (const bytes of pieces) controller.enqueue(bytes);
        if (done) return controller.close();
        await lull.note(pieces.length > 0);
      }
    },
    cancel: (reason) => reader.cancel(reason),
  });
}

/** The maximum length of an answer or an error text that is not a stream, in characters. */
const maxTextLength = 10_000_000;

/**
 * How long to wait for the rest of an error text, in milliseconds. Limited, because the service may never close the
 * connection.
 */
const maxRestMs = 1_000;

async function readRest(
  { reader, decoder }: { readonly reader: ReadableStreamDefaultReader<Uint8Array>; readonly decoder: TextDecoder },
  longest: number,
  clock: Clock,
): Promise<string> {
  let giveUp: () => void = () => {};
  const late = new Promise<undefined>((resolve) => (giveUp = () => resolve(undefined)));
  const timer = clock.setTimeout(giveUp, maxRestMs);
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

/** Creates a provider error that is also an instance of Error, because SDKs pass only such errors on unchanged. */
function errorInBody(text: string): Error {
  const said = toProviderError({ message: text });
  const isUnread = said.message === text || /^\s*[[{]/.test(said.message);
  const error = isUnread ? providerError(said.code, `The service sent no stream: ${text}`, said) : said;
  return Object.assign(new Error(error.message), error);
}
