import { dropPromise } from "../core/entry-kit.ts";
import { EventLines, type EventSource, type EventStreamOptions, toHeaders } from "./event-lines.ts";

/**
 * Turns a run into Server-Sent Events: each has the name of the event, its data as JSON, and an `id` if the source is a reader of a host.
 * An event `reset` comes first if the reader could not continue after its `from`. The page then clears its message. Data that JSON cannot hold,
 * such as a bigint in the progress of a tool, is described. If the source throws, an event `failure` with a neutral text comes last.
 *
 * Cancelling the stream leaves the source, and does nothing else: the run of `streamToolLoop` then stops, that of a host goes on. The
 * source is read as fast as the stream is. Throws LoopError "invalid-option" or "unknown-option".
 *
 * @example
 * const stream = toEventStream(streamToolLoop({ provider, tools, messages }));
 */
export function toEventStream(source: EventSource, options: EventStreamOptions = {}): ReadableStream<Uint8Array> {
  const lines = new EventLines(source, options);
  const encoder = new TextEncoder();
  return new ReadableStream<Uint8Array>(
    {
      pull: async (controller) => {
        const text = await lines.next();
        if (text === undefined) controller.close();
        else controller.enqueue(encoder.encode(text));
      },
      cancel: () => lines.leave(),
    },
    // Reading begins with the reader.
    { highWaterMark: 0 },
  );
}

/**
 * Answers a request with the events of a run, as a web `Response`. Without a source, or if the reader has everything already, the answer
 * is 204, at which an `EventSource` stops asking.
 *
 * @example
 * export const GET = (request: Request) => toEventStreamResponse(host.join(id, { from: lastEventId(request) }));
 */
export function toEventStreamResponse(source: EventSource | undefined, options: EventStreamOptions = {}): Response {
  if (source !== undefined && !isEmpty(source))
    return new Response(toEventStream(source, options), { headers: toHeaders(options) });
  dropPromise(source?.[Symbol.asyncIterator]().return?.());
  return new Response(null, { status: 204, headers: { ...options.headers } });
}

/** True if there is nothing to send. A reader that restarts still has to be told so. */
export function isEmpty({ isOver, restarted }: EventSource): boolean {
  return isOver === true && restarted !== true;
}
