import { provider, tools } from "./scene.ts";
import { headers, toFrame } from "./to-frame.ts";

import { z } from "zod";
import { type Message, streamToolLoop } from "turnwright";

const bodySchema = z.object({ question: z.string().min(1).max(2_000) });

export async function handler(request: Request): Promise<Response> {
  const body = bodySchema.safeParse(await request.json().catch(() => undefined));
  if (!body.success) return new Response(undefined, { status: 400 });
  const messages: Message[] = [{ role: "user", content: body.data.question }];
  const stream = streamToolLoop({ provider, tools, messages, signal: request.signal });
  const events = stream[Symbol.asyncIterator]();
  const frames = new ReadableStream<string>({
    async pull(controller) {
      for (let next = await events.next(); next.done !== true; next = await events.next()) {
        const frame = toFrame(next.value);
        if (frame !== undefined) return controller.enqueue(frame);
      }
      controller.close();
    },
    // Some runtimes do not abort `request.signal` when the client disconnects. They call `cancel` instead, which ends the run.
    cancel: async () => void (await events.return?.()),
  });
  return new Response(frames.pipeThrough(new TextEncoderStream()), { headers });
}
