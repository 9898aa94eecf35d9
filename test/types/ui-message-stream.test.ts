import * as ai6 from "ai";
import * as ai5 from "ai-v5";
import * as ai7 from "ai-v7";
import { expect, expectTypeOf, it } from "vitest";
import { type LoopEvent, streamToolLoop } from "turnwright";
import { createMockProvider, text } from "turnwright/testing";
import { toUIMessageStream, type UIMessage, type UIMessageChunk } from "turnwright/ui-message-stream";

const run = (): AsyncIterable<LoopEvent> =>
  streamToolLoop({ provider: createMockProvider([text("Hi.")]), messages: [{ role: "user", content: "Hi" }] });

it("toUIMessageStream: each AI SDK version's createUIMessageStreamResponse accepts the stream", async () => {
  const responses = [
    ai5.createUIMessageStreamResponse({ stream: toUIMessageStream(run(), { version: 5 }) }),
    ai6.createUIMessageStreamResponse({ stream: toUIMessageStream(run(), { version: 6 }) }),
    ai6.createUIMessageStreamResponse({ stream: toUIMessageStream(run()) }),
    ai7.createUIMessageStreamResponse({ stream: toUIMessageStream(run(), { version: 7 }) }),
  ];
  for (const response of responses) expect(await response.text()).toContain('"delta":"Hi."');
  // @ts-expect-error Version 5 has no approval requests.
  ai5.createUIMessageStreamResponse({ stream: toUIMessageStream(run(), { version: 7 }) });
});

it("UIMessageChunk: each version is assignable to the chunk type of that AI SDK version", () => {
  expectTypeOf<UIMessageChunk<5>>().toExtend<ai5.UIMessageChunk>();
  expectTypeOf<UIMessageChunk<6>>().toExtend<ai6.UIMessageChunk>();
  expectTypeOf<UIMessageChunk<7>>().toExtend<ai7.UIMessageChunk>();
  expectTypeOf<UIMessageChunk>().not.toExtend<ai6.UIMessageChunk>();
});

it("UIMessage: each version is assignable to the message type of that AI SDK version", () => {
  expectTypeOf<UIMessage<5>>().toExtend<ai5.UIMessage>();
  expectTypeOf<UIMessage<6>>().toExtend<ai6.UIMessage>();
  expectTypeOf<UIMessage<7>>().toExtend<ai7.UIMessage>();
  expectTypeOf<UIMessage<7>>().not.toExtend<ai5.UIMessage>();
});
