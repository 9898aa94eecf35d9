// Gemini's generateContentStream as a provider, with the caller's own client.

import { createSdkProvider, type Provider, withFinishReasons } from "../core/provider-kit.ts";
import { buildGenerateParams, createContentConverter } from "./generate-body.ts";
import { createGenerateReader, generateWords } from "./generate-events.ts";
import { checkGenerateOptions, type GoogleGenerateContentOptions } from "./generate-options.ts";
import { watchFetch } from "./watched-fetch.ts";

/**
 * Makes a provider from a Google client, for the Gemini API or for Vertex AI. Key, project, base URL and `httpOptions` of the
 * client are used unchanged. It does not retry unless `httpOptions.retryOptions` is set.
 *
 * The stream ends with `finish` if the service reported why the model stopped, or that it has blocked the prompt. Otherwise it
 * ends without one, because the answer is incomplete. Errors of the SDK are thrown unchanged.
 *
 * The parts of a finished message become `provider-metadata` chunks and go back to the same model unchanged: parts with thought
 * signatures, and calls of the service's own tools. Another model gets only the text and the calls, as does the same model if the
 * message was edited.
 *
 * The loop continues an answer that reached the limit of one request. The SDK's own continuation is switched off, because it
 * counts against no limit.
 *
 * Throws LoopError `invalid-option` or `unknown-option` if an option is invalid.
 *
 * @example
 * const provider = googleGenerateContent({ client: new GoogleGenAI({ apiKey }), model: "gemini-3-pro-preview" });
 *
 * @example
 * const provider = googleGenerateContent({
 *   client: new GoogleGenAI({ vertexai: true, project, location: "global" }),
 *   model: "gemini-3-flash-preview",
 *   thinking: { includeThoughts: true, thinkingLevel: "LOW" },
 *   streamArguments: true,
 * });
 */
export function googleGenerateContent(options: GoogleGenerateContentOptions): Provider {
  const settings = checkGenerateOptions(options);
  const convert = createContentConverter(settings);
  const words = withFinishReasons(generateWords, options.finishReasons);
  const { client } = settings;
  return createSdkProvider(settings, (request, call, out) => ({
    open: async (signal) => {
      const watched = watchFetch(client, buildGenerateParams(request, { settings, convert, signal }), call.clock);
      try {
        return await client.models.generateContentStream(watched.params);
      } catch (error) {
        throw watched.explain(error);
      }
    },
    reader: createGenerateReader(out, words),
  }));
}
