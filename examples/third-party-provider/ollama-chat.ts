// A provider for Ollama's chat API, as a third party could publish it. Uses the npm package `ollama`. Its parts are those of
// turnwright's own adapters: options, a request body, and an event reader.

import type { FinishReason, Message, ModelChunk, ModelRequest, Provider } from "turnwright";
import {
  checkFields,
  type Checks,
  countOf,
  createSdkProvider,
  type EventReader,
  finishReasonsCheck,
  hasSucceeded,
  is,
  listOf,
  type MediaForms,
  memoize,
  needed,
  readAssistantMessage,
  recordOf,
  textOf,
  toArgumentsObject,
  toBase64,
  usageOf,
  withFinishReasons,
  writeUserMedia,
} from "turnwright/kit";

/** The part of Ollama's client that the provider uses. The npm package `ollama` has it in every version. */
export interface OllamaClient {
  chat(body: object): PromiseLike<AsyncIterable<unknown> & { abort(): void }>;
}

interface OllamaOptions {
  readonly client: OllamaClient;
  /** The name of the model, such as "qwen3". */
  readonly model: string;
  /** Maps unknown values of Ollama's `done_reason` to finish reasons. */
  readonly finishReasons?: { readonly [word: string]: FinishReason } | undefined;
}

const checks: Checks<OllamaOptions> = { client: needed(is.object), model: needed(is.name), finishReasons: finishReasonsCheck };

// #region provider
/** Makes a provider that sends its requests with an Ollama client. */
export function ollamaChat(options: OllamaOptions): Provider {
  checkFields("ollamaChat", options, checks);
  const { client, model } = options;
  const words = withFinishReasons(doneReasons, options.finishReasons);
  return createSdkProvider({ id: "ollama", model }, (request, call, out) => ({
    open: async (signal) => {
      const body = toBody(request, model);
      call.sending?.(body, { id: "ollama", model });
      const stream = await client.chat(body).then(undefined, explain);
      signal.addEventListener("abort", () => stream.abort(), { once: true });
      return stream;
    },
    reader: createReader(out, words),
  }));
}
// #endregion provider

/** Adds `status` to the error, because the loop decides by it if the request is retried. */
function explain(error: unknown): never {
  throw Object.assign(new Error(textOf(recordOf(error)["message"])), { status: recordOf(error)["status_code"] });
}

function toBody({ system, messages, tools, settings = {} }: ModelRequest, model: string): object {
  const { maxOutputTokens, temperature, topP, stopSequences, seed, extra } = settings;
  return {
    model,
    stream: true,
    messages: [
      ...(system === undefined ? [] : [{ role: "system", content: system }]),
      ...messages.flatMap((one, index) => toWire(one, index)),
    ],
    tools: tools.map(({ name, description, inputSchema }) => ({
      type: "function",
      function: { name, description, parameters: inputSchema },
    })),
    options: { num_predict: maxOutputTokens, temperature, top_p: topP, stop: stopSequences, seed },
    ...extra,
  };
}

/** Messages in a transcript never change, so each message is converted only once. */
const toWire = memoize((message: Message, index: number): readonly object[] => {
  switch (message.role) {
    case "user":
      return [toUserMessage(message, index)];
    case "assistant": {
      const { text, calls } = readAssistantMessage(message);
      const toolCalls = calls.map(({ name, args }) => ({ function: { name, arguments: toArgumentsObject(args) } }));
      return [{ role: "assistant", content: text, tool_calls: toolCalls }];
    }
    case "tool":
      return message.results.map((result) => ({
        role: "tool",
        tool_name: result.name,
        content: `${hasSucceeded(result) ? "" : "Error: "}${JSON.stringify(result.result)}`,
      }));
  }
});

const imageForms: MediaForms<string> = {
  takes: "images as bytes",
  write: (media) => (media.kind !== "url" && media.mediaType.startsWith("image/") ? toBase64(media) : undefined),
};

/** Ollama's API expects images in a separate field. */
function toUserMessage({ content }: Extract<Message, { role: "user" }>, message: number): object {
  if (typeof content === "string") return { role: "user", content };
  const texts: string[] = [];
  const images: string[] = [];
  for (const [index, part] of content.entries()) {
    if (part.type === "text") texts.push(part.text);
    else images.push(writeUserMedia(part, imageForms, { provider: "ollama", message, part: index }));
  }
  return { role: "user", content: texts.join("\n"), images };
}

const doneReasons: ReadonlyMap<string, FinishReason> = new Map([
  ["stop", "stop"],
  ["length", "length"],
]);

/** Converts the events of one response to chunks. Checks each event, because a server can send anything. */
function createReader(out: ModelChunk[], words: ReadonlyMap<string, FinishReason>): EventReader {
  let calls = 0;
  let finished = false;
  return {
    failed: false,
    get finished() {
      return finished;
    },
    read(event) {
      const { message, done, done_reason: why, prompt_eval_count: read, eval_count: written } = recordOf(event);
      const { content, thinking, tool_calls: toolCalls } = recordOf(message);
      if (textOf(thinking) !== "") out.push({ type: "reasoning-delta", text: textOf(thinking) });
      if (textOf(content) !== "") out.push({ type: "text-delta", text: textOf(content) });
      for (const one of listOf(toolCalls)) {
        const { name, arguments: args } = recordOf(recordOf(one)["function"]);
        const key = String(calls);
        calls += 1;
        // Ollama sends each tool call in one event, and without an id.
        out.push({ type: "call-ready", key, id: undefined, name: textOf(name), args: args ?? {} });
      }
      if (done !== true) return;
      finished = true;
      const usage = usageOf({ input: countOf(read), output: countOf(written) });
      if (usage !== undefined) out.push({ type: "usage", mode: "snapshot", usage });
      const reason = words.get(textOf(why)) ?? "unknown";
      out.push({ type: "finish", reason: reason === "stop" && calls > 0 ? "tool-calls" : reason, raw: textOf(why) });
    },
    end() {},
  };
}
