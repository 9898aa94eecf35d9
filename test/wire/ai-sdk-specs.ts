import { MockLanguageModelV3 } from "ai/test";
import { MockLanguageModelV2 } from "ai-v5/test";
import { MockLanguageModelV4 } from "ai-v7/test";
import type { AiSdkLanguageModel } from "turnwright/ai-sdk";

interface SpecUsage {
  readonly input?: number;
  readonly output?: number;
  readonly cached?: number;
  readonly cacheWrite?: number;
  readonly reasoning?: number;
}

/** The scripted stream of one call. After its parts, the stream ends, stays silent or throws. */
export interface SpecStream {
  readonly parts: readonly object[];
  /** The ending of the stream. Default: "end". */
  readonly ending?: "end" | "silent" | "broken";
  /** If set, `doStream` throws this error instead of returning a stream. */
  readonly thrown?: Error;
}

export interface SpecModel {
  readonly provider?: string;
  readonly modelId?: string;
  readonly supportedUrls?: Record<string, RegExp[]>;
}

export interface SpecMock {
  readonly model: AiSdkLanguageModel;
  readonly calls: readonly { readonly abortSignal?: AbortSignal | undefined }[];
}

export interface Spec {
  readonly version: AiSdkLanguageModel["specificationVersion"];
  create(streams: readonly SpecStream[], facts?: SpecModel): SpecMock;
  /** Creates the finish part of a stream. `raw` is the finish reason of the service. Parts of v2 have no place for `raw`. */
  finish(reason: string, more?: { readonly raw?: string; readonly usage?: SpecUsage; readonly metadata?: object }): object;
  /** The finish reason that packages report if the service sends none. */
  readonly cutOff: string;
  file(mediaType: string, data: string | Uint8Array): object;
  promptData(data: string | URL): unknown;
  /** The content of a tool result: a text, an image as bytes, an image as a URL, and a PDF as bytes. */
  readonly resultContent: readonly object[];
  readonly denial: object;
  readonly providerToolType: string;
}

function play({ parts, ending = "end" }: SpecStream, signal: AbortSignal | undefined): ReadableStream<never> {
  return new ReadableStream<never>({
    start(controller) {
      signal?.addEventListener("abort", () => controller.error(signal.reason), { once: true });
      // The types of stream parts differ between the specifications, so the call is untyped.
      for (const part of parts) Reflect.apply(controller.enqueue, controller, [part]);
      if (ending === "end") controller.close();
    },
    // An error discards parts that were not read. The stream therefore throws only after all parts were read.
    pull(controller) {
      if (ending === "broken") controller.error(new TypeError("terminated"));
    },
  });
}

interface Played {
  readonly doStream: (options: { readonly abortSignal?: AbortSignal | undefined }) => Promise<{ stream: ReadableStream<never> }>;
}

function script(streams: readonly SpecStream[]): Played {
  let next = 0;
  return {
    async doStream({ abortSignal }) {
      const stream = streams[next] ?? { parts: [], thrown: new Error("There is no stream for this call.") };
      next += 1;
      abortSignal?.throwIfAborted();
      if (stream.thrown !== undefined) throw stream.thrown;
      return { stream: play(stream, abortSignal) };
    },
  };
}

const defaults = { provider: "mock.chat", modelId: "m" } as const;

function nestedFinish(reason: string, { raw, usage = {}, metadata }: NonNullable<Parameters<Spec["finish"]>[1]> = {}): object {
  const { input, output, cached, cacheWrite, reasoning } = usage;
  const counts = {
    inputTokens: { total: input, noCache: undefined, cacheRead: cached, cacheWrite },
    outputTokens: { total: output, text: undefined, reasoning },
  };
  return { type: "finish", finishReason: { unified: reason, raw }, usage: counts, providerMetadata: metadata };
}

const v2: Spec = {
  version: "v2",
  create(streams, facts) {
    const model = new MockLanguageModelV2({ ...defaults, ...facts, ...script(streams) });
    return { model, calls: model.doStreamCalls };
  },
  finish(reason, { usage = {}, metadata } = {}) {
    const { input, output, cached, reasoning } = usage;
    const totalTokens = input === undefined || output === undefined ? undefined : input + output;
    const counts = {
      inputTokens: input,
      outputTokens: output,
      totalTokens,
      cachedInputTokens: cached,
      reasoningTokens: reasoning,
    };
    return { type: "finish", finishReason: reason, usage: counts, providerMetadata: metadata };
  },
  cutOff: "unknown",
  file: (mediaType, data) => ({ type: "file", mediaType, data }),
  promptData: (data) => data,
  resultContent: [
    { type: "text", text: '{"n":1}' },
    { type: "text", text: "beside" },
    { type: "media", data: "aW1n", mediaType: "image/png" },
    {
      type: "text",
      text: '[The tool returned an image of type image/png at a URL with the scheme "https:", which cannot be shown to you: the service accepts files as base64, and only some URLs.]',
    },
    { type: "media", data: "JVBERi0x", mediaType: "application/pdf" },
  ],
  denial: { type: "error-text", value: '{"status":"denied"}' },
  providerToolType: "provider-defined",
};

const v3: Spec = {
  ...v2,
  version: "v3",
  create(streams, facts) {
    const model = new MockLanguageModelV3({ ...defaults, ...facts, ...script(streams) });
    return { model, calls: model.doStreamCalls };
  },
  finish: nestedFinish,
  cutOff: "other",
  resultContent: [
    { type: "text", text: '{"n":1}' },
    { type: "text", text: "beside" },
    { type: "image-data", data: "aW1n", mediaType: "image/png" },
    { type: "image-url", url: "https://pics.test/a.png" },
    { type: "file-data", data: "JVBERi0x", mediaType: "application/pdf" },
  ],
  denial: { type: "execution-denied", reason: '{"status":"denied"}' },
  providerToolType: "provider",
};

const tagged = (data: string | URL | Uint8Array): object =>
  data instanceof URL ? { type: "url", url: data } : { type: "data", data };

const v4: Spec = {
  ...v3,
  version: "v4",
  create(streams, facts) {
    const model = new MockLanguageModelV4({ ...defaults, ...facts, ...script(streams) });
    return { model, calls: model.doStreamCalls };
  },
  cutOff: "interrupted",
  file: (mediaType, data) => ({ type: "file", mediaType, data: tagged(data) }),
  promptData: tagged,
  resultContent: [
    { type: "text", text: '{"n":1}' },
    { type: "text", text: "beside" },
    { type: "file", data: tagged("aW1n"), mediaType: "image/png" },
    { type: "file", data: tagged(new URL("https://pics.test/a.png")), mediaType: "image/png" },
    { type: "file", data: tagged("JVBERi0x"), mediaType: "application/pdf" },
  ],
};

export const specs: readonly Spec[] = [v2, v3, v4];

export function textParts(pieces: readonly string[], { id = "t", metadata }: { id?: string; metadata?: object } = {}): object[] {
  return [
    { type: "text-start", id },
    ...pieces.map((delta) => ({ type: "text-delta", id, delta })),
    { type: "text-end", id, ...(metadata === undefined ? {} : { providerMetadata: metadata }) },
  ];
}

/** The arguments come in two halves, and then the complete call. */
export function callParts(id: string, [toolName, input]: readonly [string, string], more: object = {}): object[] {
  const half = input.length >> 1;
  return [
    { type: "tool-input-start", id, toolName, ...more },
    { type: "tool-input-delta", id, delta: input.slice(0, half) },
    { type: "tool-input-delta", id, delta: input.slice(half) },
    { type: "tool-input-end", id },
    { type: "tool-call", toolCallId: id, toolName, input, ...more },
  ];
}
