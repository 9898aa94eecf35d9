import { createSdkProvider, type Provider, withFinishReasons } from "../core/provider-kit.ts";
import { buildGenerateParams, createContentConverter } from "./generate-body.ts";
import { createGenerateReader, generateWords } from "./generate-events.ts";
import { checkGenerateOptions, type GoogleGenerateContentOptions } from "./generate-options.ts";
import { watchFetch } from "./watched-fetch.ts";

/**
 * Makes a provider from a Google client, for the Gemini API or for Vertex AI. The provider uses the client's key, project, base URL
 * and `httpOptions` unchanged. The client does not retry unless its `httpOptions.retryOptions` is set.
 *
 * The stream ends with `finish` if the service sent a finish reason, or reported that the prompt was blocked. Otherwise the answer
 * is incomplete, and there is no `finish`. Errors that the SDK throws are passed on unchanged.
 *
 * The parts of a finished message become `provider-metadata` chunks. The next request sends these parts back to the same model
 * unchanged: parts with thought signatures, and calls to tools that the service runs. If the message was edited or goes to another
 * model, only its text and calls are sent.
 *
 * If an answer reaches the limit of one request, the loop continues the answer with another request. The SDK's own continuation is
 * disabled, because it would ignore the limits of the run.
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
      call.sending?.(watched.params, settings);
      try {
        return await client.models.generateContentStream(watched.params);
      } catch (error) {
        throw watched.explain(error);
      }
    },
    reader: createGenerateReader(out, words),
  }));
}
