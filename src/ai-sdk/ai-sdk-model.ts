// Any language model of the AI SDK as a provider.

import { createSdkProvider, type Provider, recordOf } from "../core/provider-kit.ts";
import { createCallBuilder } from "./call-options.ts";
import { toModelError } from "./model-error.ts";
import { toModelWords } from "./model-finish.ts";
import { type AiSdkModelOptions, checkModelOptions } from "./model-options.ts";
import { createPartsReader, toIterable } from "./stream-parts.ts";

/**
 * Makes a provider from a language model object of the AI SDK, from any package: `@ai-sdk/openai`, `@ai-sdk/google`,
 * `@openrouter/ai-sdk-provider` and others, for AI SDK 5, 6 and 7. Only its `doStream` is called, which does not retry; wrap the
 * provider in `withRetry` to retry.
 *
 * The stream ends with `finish` if the model reported why it stopped. Provider packages also report a finish when a stream was
 * cut off. Therefore "interrupted", "unknown" of v2, and "other" without a word of the service are not treated as a finish.
 *
 * The parts of a finished message become `provider-metadata` chunks and go back to the same model unchanged, with their
 * `providerMetadata` as `providerOptions`. These are text, reasoning with its signature or item id, calls, files, and the results
 * of tools that the service runs. Sources and citations are kept in `providerMetadata` of the message, and are not sent. Another
 * model gets only the text and the calls, as does the same model if the message was edited.
 *
 * A file is sent by its URL if the model accepts such URLs. Nothing is ever fetched. With any other URL in a user's message, the
 * iteration ends as `bad-request` before the request. In a tool's result, text for the model replaces it.
 *
 * `extra` of the settings are fields of the options of `doStream`, added last: `{ topK: 20, providerOptions: { … } }`.
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
  const words = toModelWords(options.finishReasons);
  return createSdkProvider({ id, model: model.modelId, family }, (request, _call, out) => {
    const reader = createPartsReader(out, { settings, words, tools: request.tools });
    const open = async (signal: AbortSignal): Promise<unknown> => {
      const callOptions = await buildCall(request, signal);
      try {
        const { stream, response } = await model.doStream(callOptions);
        reader.opened(recordOf(response).headers);
        return toIterable(stream, signal);
      } catch (error) {
        throw toModelError(error);
      }
    };
    return { open, reader };
  });
}
