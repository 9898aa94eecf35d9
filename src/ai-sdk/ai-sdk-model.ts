import { createSdkProvider, recordOf, withFinishReasons } from "../core/kit.ts";
import type { Provider } from "../core/index.ts";
import { type ConnectionHints, explainConnection } from "../shared/adapters/connection-hints.ts";
import { reportTo } from "../shared/adapters/request-changes.ts";
import { createCallBuilder } from "./model-body.ts";
import { toModelError } from "./model-end.ts";
import { type AiSdkModelOptions, checkModelOptions } from "./model-options.ts";
import { createPartsReader, toIterable } from "./model-events.ts";

const hints: ConnectionHints = {
  address: "Check the `baseURL` that the package's provider was created with. It usually ends with a version, such as /v1.",
  key: "Check the `apiKey` that the package's provider was created with, or the environment variable that it reads.",
};

/**
 * Creates a provider from an AI SDK 5, 6 or 7 language model object. The model may come from any provider package, such as
 * `@ai-sdk/openai`, `@ai-sdk/google` or `@openrouter/ai-sdk-provider`. The provider calls only the model's `doStream`, which does not
 * retry; to retry, wrap the provider in `withRetry`.
 *
 * The stream ends with `finish` if the model reported a finish reason. Provider packages also report a finish reason when a stream
 * was cut off. Three reasons therefore do not produce `finish`: "interrupted", "unknown" from a specification v2 model, and
 * "other" if the service itself sent no reason.
 *
 * The parts of a finished message become `provider-metadata` chunks: text, reasoning with its signature or item id, calls, files,
 * and results of tools that the service runs. The next request sends these parts back to the same model unchanged, with their
 * `providerMetadata` as `providerOptions`. Sources and citations are kept in the `providerMetadata` of the message, but are not
 * sent. If the message was edited or goes to another model, only its text and calls are sent.
 *
 * For a file at a URL, the provider sends the URL if the model's `supportedUrls` accept the URL. The provider never fetches files.
 * If a user message contains any other URL, the iteration ends with `bad-request` and no request is sent. In a tool result, a file
 * at any other URL is replaced with a note for the model.
 *
 * The `modelSettings.extra` run option adds or replaces `doStream` options, for example `{ topK: 20, providerOptions: { … } }`.
 *
 * Throws LoopError `invalid-option` or `unknown-option` if an option is invalid.
 *
 * @example
 * const provider = aiSdkModel({ model: openai("gpt-5") });
 *
 * @example
 * const provider = aiSdkModel({
 *   model: openai("gpt-5"),
 *   id: "openai",
 *   providerOptions: { openai: { reasoningEffort: "low" } },
 *   providerTools: { web_search: openai.tools.webSearch({}) },
 *   onWarning: (warning) => log(warning),
 * });
 */
export function aiSdkModel(options: AiSdkModelOptions): Provider {
  const settings = checkModelOptions(options);
  const { id, family, model } = settings;
  const buildCall = createCallBuilder(settings);
  const words = withFinishReasons(new Map(), options.finishReasons);
  const sender = { id, model: model.modelId };
  const facts = {
    ...sender,
    ...settings.quirks,
    family,
    structuresOutput: true,
    errorWords: options.errorWords,
  };
  return createSdkProvider(facts, (request, call, out) => {
    const report = reportTo(out);
    const reader = createPartsReader(out, { settings, words, tools: request.tools });
    const open = async (signal: AbortSignal): Promise<unknown> => {
      const callOptions = await buildCall(request, signal, report);
      call.sending?.(callOptions, sender);
      try {
        const { stream, response } = await model.doStream(callOptions);
        reader.opened(recordOf(response).headers);
        return toIterable(stream, signal);
      } catch (error) {
        throw toModelError(error);
      }
    };
    return { open, reader, explain: (error) => explainConnection(error, hints) };
  });
}
