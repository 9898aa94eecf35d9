// Any language model of the AI SDK as a provider.

import { createSdkProvider, type Provider, recordOf } from "../core/provider-kit.ts";
import { createCallBuilder } from "./call-options.ts";
import { toModelError } from "./model-error.ts";
import { toModelWords } from "./model-finish.ts";
import { type AiSdkModelOptions, checkModelOptions } from "./model-options.ts";
import { createPartsReader, toIterable } from "./stream-parts.ts";

/**
 * Makes a provider of a language model object of the AI SDK, whatever package it comes from: `@ai-sdk/openai`, `@ai-sdk/google`,
 * `@openrouter/ai-sdk-provider`, and those of AI SDK 5, 6 and 7 alike. Only its `doStream` is called, which does not retry: put
 * `withRetry` around it.
 *
 * The stream ends with `finish` where the model said why it stopped. Provider packages also say that a stream has finished where
 * it was cut: "interrupted", v2's "unknown", and "other" without the service's own word are no finish. The parts of a
 * finished turn are `provider-metadata` chunks and go back to the same model as they came, with their `providerMetadata` as `providerOptions`: text,
 * reasoning with its signature or item id, calls, files, and what tools of the service's own side did. Sources and
 * citations are kept beside them, in `providerMetadata` of the message, and are not sent. To another model, or where the turn was changed, its text
 * and calls are sent.
 *
 * A file is sent by its URL where the model says that it takes such URLs. Nothing is ever fetched: a user's message with any other URL
 * ends the iteration as `bad-request`, before the request; of a tool's result the model is told in words.
 *
 * `extra` of the settings are fields of the options of `doStream`, put in last: `{ topK: 20, providerOptions: { … } }`.
 *
 * Throws LoopError `invalid-option` or `unknown-option` at once where the options are wrong.
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
