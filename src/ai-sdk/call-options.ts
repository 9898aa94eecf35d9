// What `doStream` is called with. What repeats from iteration to iteration, messages and tools, is converted once and only gathered here.

import {
  groupByRole,
  memoize,
  type ModelRequest,
  type ToolChoice,
  type ToolDefinition,
  toSettingFields,
} from "../core/provider-kit.ts";
import type { ModelSettings } from "./model-options.ts";
import type { AiSdkCallOptions, PromptMessage } from "./model-wire.ts";
import { createPromptConverter } from "./prompt-messages.ts";
import { specWords } from "./spec-words.ts";

/** Makes the options of one call. */
type CallBuilder = (request: ModelRequest, signal: AbortSignal) => Promise<AiSdkCallOptions>;

/** Makes a builder. It throws a ProviderError `bad-request` where a message holds what the model cannot be sent. */
export function createCallBuilder(settings: ModelSettings): CallBuilder {
  const { model, id } = settings;
  const words = specWords[model.specificationVersion];
  const convert = createPromptConverter({ id, model: model.modelId, words });
  return async (request, signal) => {
    // A model may have to ask first which it takes.
    const urls: unknown = await model.supportedUrls;
    signal.throwIfAborted();
    return {
      prompt: joinMessages(request, convert(request.messages, urls)),
      ...toToolFields(request, settings, words.providerToolType),
      ...toSettingFields(request.settings ?? {}),
      ...(settings.providerOptions === undefined ? {} : { providerOptions: settings.providerOptions }),
      ...(settings.headers === undefined ? {} : { headers: settings.headers }),
      // Spread, not assigned: an own key "__proto__" stays a field.
      ...request.settings?.extra,
      // Of a gateway they would cross the network twice.
      includeRawChunks: !model.provider.startsWith("gateway"),
      abortSignal: signal,
    };
  };
}

/** Tool messages that follow each other become one: answers to the service, then results of the run's own tools. */
function joinMessages({ system }: ModelRequest, messages: readonly PromptMessage[]): readonly PromptMessage[] {
  const prompt = groupByRole(messages).flatMap((group): readonly PromptMessage[] => {
    const results = group.flatMap((message) => (message.role === "tool" ? message.content : []));
    return group.length > 1 && group[0].role === "tool" ? [{ role: "tool", content: results }] : group;
  });
  return system === undefined || system === "" ? prompt : [{ role: "system", content: system }, ...prompt];
}

function toToolFields({ tools, toolChoice }: ModelRequest, { providerTools = {} }: ModelSettings, type: string): object {
  const own = tools.filter(({ name }) => !Object.hasOwn(providerTools, name)).map(toFunctionTool);
  const defined = Object.entries(providerTools).map(([name, { id, args }]) => ({ type, id, name, args }));
  if (own.length + defined.length === 0) return {};
  return { tools: [...own, ...defined], ...toChoiceField(toolChoice) };
}

function toChoiceField(choice: ToolChoice | undefined): object {
  if (choice === undefined) return {};
  return { toolChoice: typeof choice === "string" ? { type: choice } : { type: "tool", toolName: choice.name } };
}

const toFunctionTool = memoize(({ name, description, inputSchema }: ToolDefinition): object => ({
  type: "function",
  name,
  description,
  inputSchema,
}));
