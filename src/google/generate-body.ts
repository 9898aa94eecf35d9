// What is asked in one request. What repeats from iteration to iteration, messages and tools, is converted once and only gathered here.

import {
  groupByRole,
  memoize,
  type Message,
  type ModelRequest,
  type ToolChoice,
  type ToolDefinition,
  toSettingFields,
} from "../core/provider-kit.ts";
import type { ContentConverter } from "./content-converter.ts";
import type { GenerateSettings } from "./generate-options.ts";
import type { GenerateContentParams, WireContent } from "./generate-wire.ts";

/** What a request is made with. */
export interface RequestPorts {
  readonly settings: GenerateSettings;
  readonly convert: ContentConverter;
  readonly signal: AbortSignal;
}

/**
 * Writes a request. `extra` may replace every field of `config` but those that this adapter relies on: the signal, the token to go on
 * with, and that the SDK neither runs tools nor continues an answer by itself.
 */
export function buildGenerateParams(request: ModelRequest, { settings, convert, signal }: RequestPorts): GenerateContentParams {
  const { system, messages, continuationToken, settings: model = {} } = request;
  return {
    model: settings.model,
    contents: joinContents(messages, convert),
    config: {
      ...(system === undefined || system.trim() === "" ? {} : { systemInstruction: { parts: [{ text: system }] } }),
      ...toToolFields(request, settings),
      ...toSettingFields(model),
      ...(settings.thinking === undefined ? {} : { thinkingConfig: settings.thinking }),
      // Spread, not assigned: an own key "__proto__" stays a field.
      ...model.extra,
      ...(continuationToken === undefined ? {} : { continuationToken }),
      automaticFunctionCalling: { disable: true },
      automaticContinuation: false,
      abortSignal: signal,
    },
  };
}

/** The service wants the user to begin. */
const opening: WireContent = { role: "user", parts: [{ text: "(The conversation begins.)" }] };

/** Contents of one role that follow each other become one: answers of tools, then what a user says to them. */
function joinContents(messages: readonly Message[], convert: ContentConverter): readonly WireContent[] {
  const contents = messages.map((message, index) => convert(message, messages[index - 1], index));
  const groups = groupByRole(contents.filter(({ parts }) => parts.length > 0));
  const joined = groups.map((group) =>
    group.length === 1 ? group[0] : { role: group[0].role, parts: group.flatMap(({ parts }) => parts) },
  );
  return joined[0]?.role === "model" ? [opening, ...joined] : joined;
}

function toToolFields({ tools, toolChoice }: ModelRequest, settings: GenerateSettings): object {
  const { serverTools } = settings;
  if (tools.length + serverTools.length === 0) return {};
  const functions = tools.length === 0 ? [] : [{ functionDeclarations: tools.map(toDeclaration) }];
  return { tools: [...functions, ...serverTools], ...(tools.length === 0 ? {} : toToolConfig(toolChoice, settings)) };
}

/** With tools of both kinds, Gemini 3 has to be asked to tell of the calls of its own; Vertex AI has no field for it. */
function toToolConfig(choice: ToolChoice | undefined, settings: GenerateSettings): object {
  const { client, generation, serverTools, streamArguments } = settings;
  const calling = {
    ...(choice === undefined ? {} : toCallingMode(choice)),
    ...(streamArguments ? { streamFunctionCallArguments: true } : {}),
  };
  const toolConfig = {
    ...(Object.keys(calling).length === 0 ? {} : { functionCallingConfig: calling }),
    ...(serverTools.length > 0 && generation === 3 && client.vertexai !== true ? { includeServerSideToolInvocations: true } : {}),
  };
  return Object.keys(toolConfig).length === 0 ? {} : { toolConfig };
}

const modes = { auto: "AUTO", required: "ANY", none: "NONE" } as const;

function toCallingMode(choice: ToolChoice): object {
  return typeof choice === "string" ? { mode: modes[choice] } : { mode: modes.required, allowedFunctionNames: [choice.name] };
}

/**
 * As `parametersJsonSchema`, which takes any JSON Schema: the older field `parameters` answers 400 to keywords that it does not know,
 * such as `exclusiveMinimum`.
 */
const toDeclaration = memoize(({ name, description, inputSchema }: ToolDefinition): object => ({
  name,
  description,
  parametersJsonSchema: inputSchema,
}));
