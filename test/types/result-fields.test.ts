import { expect, expectTypeOf, it } from "vitest";
import { z } from "zod";
import { approve, type LoopResult, type Middleware, runToolLoop, streamToolLoop, structuredOutput } from "turnwright";
import { type Conversation, createConversation, memoryConversationStore } from "turnwright/conversation";
import { createRunHost } from "turnwright/host";
import { createMockProvider, text } from "turnwright/testing";

const messages = [{ role: "user", content: "Go." }] as const;
const provider = () => createMockProvider([text('{"n":1}')]);

const receipts = { name: "receipts", pure: true, result: () => ({ receipts: 2 }) } as const satisfies Middleware;
const label = (): { name: string; pure: true; result(): { label: string } } => ({
  name: "label",
  pure: true,
  result: () => ({ label: "a" }),
});

it("runToolLoop: types the fields that middleware adds to the result", async () => {
  const schema = z.object({ n: z.number() });
  const middleware = [receipts, approve(), label(), structuredOutput(schema)] as const;
  const result = await runToolLoop({ provider: provider(), messages, middleware });
  expectTypeOf(result.receipts).toEqualTypeOf<number>();
  expectTypeOf(result.label).toEqualTypeOf<string>();
  expectTypeOf(result.output).toEqualTypeOf<{ n: number } | undefined>();
  expect([result.receipts, result.label, result.output]).toEqual([2, "a", { n: 1 }]);
  const streamed = await streamToolLoop({ provider: provider(), messages, middleware }).result;
  expectTypeOf(streamed).toEqualTypeOf(result);
  expect(streamed.receipts).toBe(2);
});

it("runToolLoop: types the result fields of a middleware list written directly in the options", async () => {
  const isLabelled = messages.length > 1;
  const result = await runToolLoop({
    provider: provider(),
    messages,
    middleware: [receipts, isLabelled && label(), { name: "own", call: (call, next) => next(call) }],
  });
  expectTypeOf(result.receipts).toEqualTypeOf<number>();
  expectTypeOf(result.label).toEqualTypeOf<string | undefined>();
  expect([result.receipts, result.label]).toEqual([2, undefined]);
});

it("createConversation: types the fields of its middleware and of a single run's middleware", async () => {
  const options = { provider: createMockProvider(() => [text("Yes.")]), middleware: [receipts, approve()] as const };
  const chat = createConversation({ id: "fields", store: memoryConversationStore(), options });
  const first = await chat.send("Go.");
  expectTypeOf(first.receipts).toEqualTypeOf<number>();
  const own = await chat.send("Go on.", { middleware: [label()] });
  expectTypeOf(own.label).toEqualTypeOf<string>();
  // @ts-expect-error the middleware of this run replaces that of the conversation
  expect(own.receipts).toBeUndefined();
  const streamed = await (await chat.fork("copy")).stream("And now?", { limits: { maxIterations: 2 } }).result;
  expectTypeOf(streamed.receipts).toEqualTypeOf<number>();
  const general: Conversation = chat;
  expect([first.receipts, own.label, streamed.receipts, general.id]).toEqual([2, "a", 2, "fields"]);
});

it("createRunHost: types the fields of the middleware passed to start and to resume", async () => {
  const host = createRunHost();
  const run = { provider: createMockProvider(() => [text("Yes.")]), middleware: [receipts, label()] } as const;
  const started = await host.start("fields", { ...run, message: "Go." });
  if (started.kind !== "started") throw new Error(started.kind);
  const result = await started.result;
  expectTypeOf(result.label).toEqualTypeOf<string>();
  expect([result.receipts, result.label]).toEqual([2, "a"]);
  const typed = async (): Promise<void> => {
    const resumed = await host.resume("fields", { ...run, middleware: [receipts] });
    if (resumed.kind === "started") expectTypeOf((await resumed.result).receipts).toEqualTypeOf<number>();
  };
  expect(typeof typed).toBe("function");
  await host.close();
});

it("runToolLoop: adds no fields to the result type if no middleware adds fields", async () => {
  const middleware: readonly Middleware[] = [receipts];
  const result = await runToolLoop({ provider: provider(), messages, middleware });
  expectTypeOf(result).toEqualTypeOf<LoopResult>();
  // @ts-expect-error nothing says that there is such a field
  expect(result.receipts).toBe(2);
});
