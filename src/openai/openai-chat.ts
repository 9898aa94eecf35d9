import { createMediaFitter } from "../shared/adapters/fit-media.ts";
import { createSdkProvider, withFinishReasons } from "../core/kit.ts";
import { EventTail } from "../shared/adapters/event-filter.ts";
import type { Provider } from "../core/index.ts";
import { reportTo } from "../shared/adapters/request-changes.ts";
import { buildChatBody, chatMedia, createMessageConverter } from "./chat-body.ts";
import { chatWords, createChatReader } from "./chat-events.ts";
import { keepErrorBodies } from "./keep-error-bodies.ts";
import { type ChatSettings, checkChatOptions, type OpenAIChatOptions } from "./chat-options.ts";
import { describeClient, explainLoss, openEvents, toChatChunk } from "./whole-answer.ts";

/**
 * Matches errors from services that refuse `stream_options`: Databricks (github.com/continuedev/continue/issues/12936,
 * github.com/anomalyco/opencode/issues/4698), and Azure OpenAI On Your Data (github.com/openai/openai-python/issues/2296).
 */
const refusesUsage = /stream_options|include_usage/;

/**
 * Matches errors from services that accept only the other field for the output limit: OpenAI's reasoning models, even under an Azure
 * deployment name that does not reveal the model (github.com/lfnovo/open-notebook/issues/111), and older ones
 * (github.com/BerriAI/litellm/issues/8855).
 */
const refusesField = /unsupported|not (?:supported|permitted)|unknown|unrecognized|unexpected/i;
const limitFields = ["max_completion_tokens", "max_tokens"] as const;

/**
 * Matches errors from services that require the reasoning of earlier messages, although the name of the model does not tell
 * (github.com/mnfst/llm-gateway/issues/1862, github.com/agentscope-ai/QwenPaw/issues/433, github.com/shiaho777/web-to-app/pull/452).
 */
const needsReasoning = /reasoning_content\b.{0,40}(?:passed back|missing)/;

/**
 * Matches errors from servers that refuse a call with the content null: LM Studio (github.com/lmstudio-ai/lmstudio-bug-tracker/issues/261),
 * llama.cpp (github.com/ggml-org/llama.cpp/issues/13471), Ollama (github.com/SAIL-Research-Lab/cheetahclaws/pull/72) and Pydantic
 * (github.com/mistralai/mistral-common/issues/324).
 */
const refusesNull = /\bcontent\b.{0,60}(?:\bstring\b|<nil>)/i;

/** The form of a refused request. */
interface SentForm {
  readonly isEchoed: boolean;
  readonly messages: readonly object[];
}

/** The form of the messages, which may change after a refusal. */
function createForm(settings: ChatSettings) {
  function change(changes: Partial<ChatSettings>): void {
    form.settings = { ...form.settings, ...changes };
    form.toMessages = createMessageConverter(form.settings);
  }
  const form = {
    settings,
    toMessages: createMessageConverter(settings),
    /** Returns true if the request that had this form should be sent again in another one. */
    adapt(message: string, { isEchoed, messages }: SentForm): boolean {
      const { echoReasoning, quirks } = form.settings;
      if (needsReasoning.test(message)) {
        if (echoReasoning === undefined) change({ echoReasoning: "reasoning_content" });
        return !isEchoed;
      }
      if (!refusesNull.test(message) || !messages.some((one) => "content" in one && one.content === null)) return false;
      if (quirks.callText === undefined) change({ quirks: { ...quirks, callText: "" } });
      return true;
    },
  };
  return form;
}

/**
 * Creates a provider from an OpenAI client. The provider uses the client's key, base URL, proxy and retries unchanged. The client
 * automatically retries failed connections and responses with status 408, 409, 429 or 5xx: twice, unless its `maxRetries` is set. If your
 * own code also retries, the numbers of attempts multiply.
 *
 * The stream ends with `finish` if the server sent a finish reason, the final token counts or `[DONE]`, which follow only a complete
 * answer. Otherwise the answer is incomplete, and there is no `finish`.
 *
 * Errors that the SDK throws are passed on unchanged, except that errors about a wrong address or a missing key say what to change.
 * Errors inside the stream that the SDK does not throw become `error` chunks. The provider reads reasoning from every field that
 * servers use for it, and sends reasoning back if the model requires it or `echoReasoning` is set.
 *
 * Throws LoopError `invalid-option` or `unknown-option` if an option is invalid.
 *
 * @example
 * const provider = openaiChat({ client: new OpenAI(), model: "gpt-5" });
 *
 * @example
 * const client = new OpenAI({ baseURL: "https://api.deepseek.com", apiKey });
 * const provider = openaiChat({ client, model: "deepseek-v4-pro", id: "deepseek" });
 */
export function openaiChat(options: OpenAIChatOptions): Provider {
  const settings = checkChatOptions(options);
  keepErrorBodies(settings.client, settings.client.chat.completions);
  const form = createForm(settings);
  const fitMedia = createMediaFitter({ forms: chatMedia, limits: settings.quirks.media, id: settings.id });
  const words = withFinishReasons(chatWords, options.finishReasons);
  const hints = describeClient(settings.client, "It usually ends with /v1.");
  let { includeUsage, maxTokensField } = settings;
  let isFieldReplaced = false;
  return createSdkProvider({ ...settings, ...settings.quirks }, (request, call, out) => {
    const tail = new EventTail();
    let asksUsage = false;
    let askedField = maxTokensField;
    let isEchoed = false;
    let messages: readonly object[] = [];
    return {
      open: async (signal) => {
        const report = reportTo(out);
        const body = buildChatBody(fitMedia(request), {
          settings: { ...settings, includeUsage, maxTokensField },
          toMessages: form.toMessages,
          report,
        });
        asksUsage = "stream_options" in body;
        askedField = maxTokensField;
        isEchoed = form.settings.echoReasoning !== undefined;
        ({ messages } = body);
        if (settings.includeUsage && !includeUsage)
          report({ by: "adapter", field: "includeUsage", action: "removed", reason: "unsupported" });
        call.sending?.(body, settings);
        const send = (): unknown => settings.client.chat.completions.create(body, { signal });
        return openEvents(send, { body, call, toEvent: toChatChunk, tail });
      },
      reader: createChatReader(out, { words, thinkTags: settings.thinkTags, tail }),
      explain: explainLoss(tail, out, hints),
      adapt: ({ code, message }) => {
        if (code === "bad-request" && new RegExp(`\\b${askedField}\\b`).test(message) && refusesField.test(message)) {
          // Another request may have replaced the field in the meantime.
          if (maxTokensField !== askedField) return true;
          if (isFieldReplaced) return false;
          isFieldReplaced = true;
          maxTokensField = limitFields.find((name) => name !== askedField) ?? askedField;
          return true;
        }
        if (form.adapt(message, { isEchoed, messages })) return true;
        if (!asksUsage || !refusesUsage.test(message)) return false;
        asksUsage = false;
        includeUsage = false;
        return true;
      },
    };
  });
}
