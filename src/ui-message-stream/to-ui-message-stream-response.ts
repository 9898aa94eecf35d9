import type { UIEventItem } from "./create-ui-message-mapper.ts";
import { toHeaders, UIEventLines, type UIResponseOptions } from "./ui-event-lines.ts";

/**
 * Answers a request of `useChat` with a run, as a web `Response`: for Next.js, Hono, Bun, Deno and Workers. If the page leaves, the
 * iterator of the source is returned. Throws LoopError "invalid-option" or "unknown-option" if an option is invalid.
 *
 * @example
 * export const POST = async (request: Request) => {
 *   const { message } = await readUIChatRequest(request);
 *   return toUIMessageStreamResponse(streamToolLoop({ provider, tools, messages: [...history, message] }));
 * };
 */
export function toUIMessageStreamResponse(events: AsyncIterable<UIEventItem>, options: UIResponseOptions = {}): Response {
  const lines = new UIEventLines(events, options);
  const encoder = new TextEncoder();
  const body = new ReadableStream<Uint8Array>(
    {
      pull: async (controller) => {
        const text = await lines.next();
        if (text === undefined) controller.close();
        else controller.enqueue(encoder.encode(text));
      },
      cancel: () => lines.leave(),
    },
    { highWaterMark: 0 },
  );
  return new Response(body, { headers: toHeaders(options) });
}
