// Gemini's generateContentStream as a provider over the caller's own client.

import { createSdkProvider, type Provider, withFinishReasons } from "../core/provider-kit.ts";
import { buildGenerateParams, createContentConverter } from "./generate-body.ts";
import { createGenerateReader, generateWords } from "./generate-events.ts";
import { checkGenerateOptions, type GoogleGenerateContentOptions } from "./generate-options.ts";
import { watchFetch } from "./watched-fetch.ts";

/**
 * Makes a provider of a Google client, for the Gemini API or for Vertex AI. The client stays the caller's: its key, project, base
 * URL and `httpOptions` are used as they are. It does not retry unless `httpOptions.retryOptions` says so.
 *
 * The stream ends with `finish` where the service said why the model stopped, or that it has blocked the prompt, and without one
 * where it did not: then the answer is not complete, whatever it holds. What the SDK throws passes through. The parts of a
 * finished turn are `provider-metadata` chunks and go back to the same model as they came: thought signatures on their parts, and the calls
 * of the service's own tools. To another model, or where the turn was changed, its text and calls are sent. An answer that reached
 * the limit of one request is continued by the loop; the SDK's own continuation is switched off, because it counts against no limit.
 *
 * Throws LoopError `invalid-option` or `unknown-option` at once where the options are wrong.
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
