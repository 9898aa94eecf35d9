// The body of one request. What repeats from iteration to iteration, messages and tools, is converted once and only gathered here.

import { memoize, type ModelRequest, type ModelSettings, type ToolChoice, type ToolDefinition } from "../core/provider-kit.ts";
import type { InputConverter } from "./responses-input.ts";
import type { ResponsesSettings } from "./responses-options.ts";
import type { ResponsesRequestBody } from "./responses-wire.ts";

/** What a body is made with. */
export interface BodyPorts {
  readonly settings: ResponsesSettings;
  readonly toInput: InputConverter;
  readonly toTool: ToolConverter;
}

/** A tool as the model is shown it. */
export type ToolConverter = (definition: ToolDefinition) => object;

/** Writes a request. `extra` comes last and may replace every field but `stream`. */
export function buildResponsesBody(request: ModelRequest, { settings, toInput, toTool }: BodyPorts): ResponsesRequestBody {
  const { system, messages, tools, toolChoice, settings: model = {} } = request;
  const { serverTools, include, reasoning, store } = settings;
  const wireTools = [...tools.map(toTool), ...serverTools];
  const fields = {
    ...(system === undefined || system === "" ? {} : { instructions: system }),
    input: toInput(messages),
    ...(wireTools.length === 0 ? {} : { tools: wireTools, ...toChoiceField(toolChoice, settings) }),
    store,
    ...(include.length === 0 ? {} : { include }),
    ...(reasoning === undefined ? {} : { reasoning }),
    ...toSettingFields(model),
  };
  // Spread, not assigned: an own key "__proto__" stays a field.
  return { model: settings.model, ...fields, ...model.extra, stream: true };
}

/** The wire has neither stop sequences nor a seed, and refuses fields that it does not know. */
function toSettingFields({ maxOutputTokens, temperature, topP }: ModelSettings): object {
  return {
    ...(maxOutputTokens === undefined ? {} : { max_output_tokens: maxOutputTokens }),
    ...(temperature === undefined ? {} : { temperature }),
    ...(topP === undefined ? {} : { top_p: topP }),
  };
}

function toChoiceField(choice: ToolChoice | undefined, { customTools }: ResponsesSettings): object {
  if (choice === undefined) return {};
  if (typeof choice === "string") return { tool_choice: choice };
  return { tool_choice: { type: customTools.has(choice.name) ? "custom" : "function", name: choice.name } };
}

/** Makes a converter that remembers what it has converted, by the identity of the definition. */
export function createToolConverter({ customTools }: Pick<ResponsesSettings, "customTools">): ToolConverter {
  return memoize(({ name, description, inputSchema: parameters }) => {
    const format = customTools.get(name);
    if (format !== undefined) return { type: "custom", name, description, format };
    // Without a word on it the service reads every schema as a strict one, which most are not.
    return { type: "function", name, description, parameters, strict: false };
  });
}
