import { expect, it } from "vitest";
import type { Provider } from "turnwright";
import { aiSdkModel, type AiSdkLanguageModel } from "turnwright/ai-sdk";
import { createTestClock } from "turnwright/testing";
import { ask, createCall, runIteration } from "./provider-iteration.ts";

const never = new Promise<never>(() => {});
const finish = { type: "finish", finishReason: { unified: "stop", raw: "stop" }, usage: {} };
const text = { type: "text-delta", id: "0", delta: "A" };

const createModel = (rest: Partial<AiSdkLanguageModel>): AiSdkLanguageModel =>
  Object.defineProperties(
    { specificationVersion: "v3", provider: "p", modelId: "m", supportedUrls: {}, doStream: () => never },
    Object.getOwnPropertyDescriptors(rest),
  );

function openStream(...parts: readonly object[]): { readonly stream: ReadableStream; readonly reasons: readonly unknown[] } {
  const reasons: unknown[] = [];
  const stream = new ReadableStream({
    start: (controller) => parts.forEach((part) => controller.enqueue(part)),
    cancel: (reason) => void reasons.push(reason),
  });
  return { stream, reasons };
}

async function readOpen(provider: Provider): Promise<readonly string[]> {
  const clock = createTestClock();
  const types: string[] = [];
  const reading = (async () => {
    for await (const { type } of provider.stream(ask("Hi"), { ...createCall(), clock })) types.push(type);
  })();
  await clock.runAll();
  await reading;
  return types;
}

it("aiSdkModel: closes a stream that ignores the signal", async () => {
  const { stream, reasons } = openStream(text);
  const controller = new AbortController();
  const provider = aiSdkModel({ model: createModel({ doStream: async () => ({ stream }) }) });
  const iteration = await runIteration(provider, ask("Hi"), {
    signal: controller.signal,
    onChunk: () => controller.abort("enough"),
  });
  expect(iteration).toMatchObject({ text: "A", finish: undefined });
  expect(reasons).toEqual(["enough"]);
});

it("aiSdkModel: closes a silent stream when the reader stops", async () => {
  const { stream, reasons } = openStream(text);
  const provider = aiSdkModel({ model: createModel({ doStream: async () => ({ stream }) }) });
  const chunks = provider.stream(ask("Hi"), createCall())[Symbol.asyncIterator]();
  await chunks.next();
  const waiting = chunks.next();
  await chunks.return?.();
  expect(await waiting).toEqual({ done: true, value: undefined });
  expect(reasons).toHaveLength(1);
});

it("aiSdkModel: closes a stream that arrives after an abort", async () => {
  const { stream, reasons } = openStream(text);
  const controller = new AbortController();
  let answer: (answer: { readonly stream: object }) => void = () => undefined;
  const asked = new Promise<void>((tell) => {
    const doStream: AiSdkLanguageModel["doStream"] = () => {
      tell();
      return new Promise((resolve) => (answer = resolve));
    };
    const iteration = runIteration(aiSdkModel({ model: createModel({ doStream }) }), ask("Hi"), { signal: controller.signal });
    void iteration.then(({ error }) => expect(error).toMatchObject({ code: "network", retryable: false }));
  });
  await asked;
  controller.abort("enough");
  answer({ stream });
  await expect.poll(() => reasons).toEqual(["enough"]);
});

it("aiSdkModel: stops waiting for the `supportedUrls` promise when the signal fires", async () => {
  const controller = new AbortController();
  const iteration = runIteration(aiSdkModel({ model: createModel({ supportedUrls: never }) }), ask("Hi"), {
    signal: controller.signal,
  });
  controller.abort("enough");
  expect((await iteration).error).toMatchObject({ code: "network", retryable: false });
});

it.for<[what: string, model: Partial<AiSdkLanguageModel>]>([
  [
    "rejects the supportedUrls promise",
    {
      get supportedUrls() {
        return Promise.reject(new Error("fetch failed"));
      },
    },
  ],
  [
    "throws from doStream",
    {
      doStream() {
        throw new Error("fetch failed");
      },
    },
  ],
  ["rejects the promise from doStream", { doStream: () => Promise.reject(new Error("fetch failed")) }],
])("aiSdkModel: reports a retryable error if the model %s", async ([, model]) => {
  const { error } = await runIteration(aiSdkModel({ model: createModel(model) }), ask("Hi"));
  expect(error).toMatchObject({ code: "network", retryable: true });
});

it("aiSdkModel: completes an answer at the finish part, even if the stream stays open", async () => {
  const { stream, reasons } = openStream(text, finish);
  const provider = aiSdkModel({ model: createModel({ doStream: async () => ({ stream }) }) });
  expect(await readOpen(provider)).toEqual(["text-delta", "provider-metadata", "finish"]);
  expect(reasons).toHaveLength(1);
});

it("aiSdkModel: ignores rejected promises from onWarning and approveProviderTool", async () => {
  const request = { type: "tool-approval-request", approvalId: "x", toolCallId: "a" };
  const { stream } = openStream({ type: "stream-start", warnings: [{ type: "other", message: "Hm." }] }, request, finish);
  const fails = (): never => {
    // Programs in JavaScript may pass an async function.
    const failed: unknown = Promise.reject(new Error("The log is full."));
    return failed as never;
  };
  const model = createModel({ doStream: async () => ({ stream }) });
  const provider = aiSdkModel({ model, onWarning: fails, approveProviderTool: fails });
  expect(await readOpen(provider)).toEqual(["provider-metadata", "finish"]);
});
