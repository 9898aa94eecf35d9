import {
  assertTool,
  checkFields,
  type ExecutableTool,
  invalidOption,
  is,
  isRecord,
  refuseTool,
  type ToolSchema,
} from "../core/kit.ts";
import type { ToolTraits } from "../core/types/tool.ts";
import { describeValue, quote } from "../shared/texts.ts";
import { isStandardSchema, toJsonSchema, validateArgs } from "../shared/argument-schema.ts";
import { isThenable, type UnknownRecord } from "../shared/guards.ts";
import type { JsonSchema } from "../core/index.ts";
import { whenReady } from "../shared/promises.ts";
import { type ForeignTool, isCallable, keepArgs, type ParseArgs } from "./foreign-tool.ts";
import { fromAiSdk } from "./from-ai-sdk.ts";
import { fromAnthropic } from "./from-anthropic.ts";
import { fromLangChain } from "./from-langchain.ts";
import { fromOpenAiAgents } from "./from-openai-agents.ts";

type ForeignKind = "ai-sdk" | "openai-agents" | "anthropic" | "langchain";

type FoundKind = { readonly kind: ForeignKind } | { readonly problem: string };

interface Shape {
  readonly kind: ForeignKind;
  readonly label: string;
  looksLike(tool: UnknownRecord): boolean;
  readonly needs: readonly (readonly [field: string, fits: (value: unknown) => boolean])[];
}

const isSchema = (value: unknown): boolean => isRecord(value) || isCallable(value);

const shapes: readonly Shape[] = [
  {
    kind: "langchain",
    label: "LangChain",
    looksLike: (tool) => Array.isArray(tool["lc_namespace"]) || ("schema" in tool && isCallable(tool["invoke"])),
    needs: [
      ["schema", isSchema],
      ["invoke", isCallable],
    ],
  },
  {
    kind: "openai-agents",
    label: "OpenAI Agents",
    looksLike: (tool) => tool["type"] === "function" && !("inputSchema" in tool),
    needs: [
      ["parameters", isRecord],
      ["invoke", isCallable],
    ],
  },
  {
    kind: "anthropic",
    label: "the Anthropic SDK",
    looksLike: (tool) => "input_schema" in tool || isCallable(tool["run"]),
    needs: [["run", isCallable]],
  },
  {
    kind: "ai-sdk",
    label: "the AI SDK",
    looksLike: (tool) => "inputSchema" in tool || isCallable(tool["execute"]),
    needs: [
      ["inputSchema", isSchema],
      ["execute", (execute) => execute === undefined || isCallable(execute)],
    ],
  },
];

const known =
  '"inputSchema" and "execute" (AI SDK), "parameters" and "invoke" (OpenAI Agents), "input_schema" and "run" (Anthropic), or "schema" and "invoke" (LangChain)';

function findKind(tool: UnknownRecord): FoundKind {
  const shape = shapes.find(({ looksLike }) => looksLike(tool));
  if (shape === undefined) return { problem: describeUnknown(tool) };
  if (isProviderTool(tool) && tool["execute"] === undefined) {
    return {
      problem: `is run by its provider (${quote(String(tool["id"]))}), so it has no function to call and cannot be imported`,
    };
  }
  const missing = shape.needs.find(([field, fits]) => !fits(tool[field]));
  if (missing === undefined) return { kind: shape.kind };
  const [field] = missing;
  const why =
    field.endsWith("chema") || field === "parameters"
      ? "the model needs this schema of the arguments"
      : "turnwright calls this function to run the tool";
  return { problem: `looks like a tool from ${shape.label}, but has no ${quote(field)}: ${why}` };
}

function isProviderTool({ type }: UnknownRecord): boolean {
  return type === "provider" || type === "provider-defined";
}

function describeUnknown({ type }: UnknownRecord): string {
  return typeof type === "string"
    ? `has the type ${quote(type)}, and tools of this type run elsewhere: an imported tool needs ${known}`
    : `is not from a supported library: an imported tool needs ${known}`;
}

/** Fields and traits that replace those of an imported tool. */
export interface ImportOverrides extends ToolTraits {
  readonly name?: string | undefined;
  readonly description?: string | undefined;
  /** Replaces the tool's schema, both for the model and for validating arguments. */
  readonly inputSchema?: ToolSchema | undefined;
  /** The JSON Schema to show to the model. Required if the tool's schema cannot be converted to JSON Schema. */
  readonly jsonSchema?: JsonSchema | undefined;
}

const readers: { readonly [Kind in ForeignKind]: (tool: UnknownRecord, name: unknown) => ForeignTool } = {
  "ai-sdk": fromAiSdk,
  "openai-agents": fromOpenAiAgents,
  anthropic: fromAnthropic,
  langchain: fromLangChain,
};

/**
 * Converts a tool that was written for the AI SDK (`tool()`), OpenAI Agents (`tool()`), the Anthropic SDK (`betaZodTool`,
 * `betaTool`) or LangChain (`tool()`, StructuredTool). The library is recognized by the tool's fields. None of these
 * packages is loaded.
 *
 * The tool's schema is sent to the model and also validates the arguments. The tool receives the call's abort signal. The tool's results
 * and errors, including images and files, become the results and errors of the call. The tool's approval setting becomes the
 * `needsApproval` trait. Fields in `overrides` replace fields of the tool. AI SDK tools have no name, so pass a name in `overrides`. A call
 * to an AI SDK tool without `execute` waits for an outside result.
 *
 * Throws LoopError "invalid-tool" if the value is not a tool from one of these libraries, has no name, or is run by its provider.
 * Throws LoopError "invalid-schema" if the schema cannot be converted and `jsonSchema` is not set.
 *
 * @example
 * const weather = importTool(aiSdkWeather, { name: "get_weather", timeoutMs: 10_000 });
 * await runToolLoop({ provider, tools: [weather], messages });
 */
export function importTool(tool: object, overrides: ImportOverrides = {}): ExecutableTool<unknown> {
  const given: unknown = tool;
  if (!isRecord(given)) throw refuseTool("", `is ${describeValue(given)}, but must be an object`);
  const name = overrides.name ?? given["name"];
  const found = findKind(given);
  if ("problem" in found) throw refuseTool(name, found.problem);
  const foreign = readers[found.kind](given, name);
  if (typeof name !== "string") {
    throw refuseTool("", "has no name: pass a name, as in importTool(tool, { name }) or importTools({ name: tool })");
  }
  return assemble(foreign, { ...overrides, name });
}

/**
 * Converts several tools: an array of tools with names, or an object that maps names to tools, as in the AI SDK. The name in the object
 * replaces the tool's name. `overrides` may have an entry for each tool, by name.
 *
 * Throws the errors of `importTool`, and LoopError "invalid-option" if `tools` is neither an array nor an object.
 *
 * @example
 * const tools = importTools({ get_weather, send_mail }, { send_mail: { needsApproval: true } });
 */
export function importTools(
  tools: readonly object[] | { readonly [name: string]: object },
  overrides: { readonly [name: string]: ImportOverrides } = {},
): readonly ExecutableTool<unknown>[] {
  const given: unknown = tools;
  if (!Array.isArray(given) && !hasNames(given))
    throw invalidOption("tools", "an array of tools or an object that maps names to tools", given);
  const named = Array.isArray(tools)
    ? tools.map((tool: object): readonly [unknown, object] => [Reflect.get(Object(tool), "name"), tool])
    : Object.entries(tools);
  checkFields("overrides", overrides, Object.fromEntries(named.map(([name]) => [String(name), is.object])));
  return named.map(([name, tool]) => {
    if (typeof name !== "string") return importTool(tool);
    return importTool(tool, { name, ...overrides[name] });
  });
}

/** True for a plain object of tools. A promise, a Map or a Set would otherwise count as an object with no tools. */
function hasNames(given: unknown): boolean {
  return isRecord(given) && !isThenable(given) && !(Symbol.iterator in given);
}

function assemble(foreign: ForeignTool, overrides: ImportOverrides & { readonly name: string }): ExecutableTool<unknown> {
  const { name } = overrides;
  const inputSchema = overrides.inputSchema ?? foreign.schema?.inputSchema;
  if (inputSchema === undefined) throw refuseTool(name, 'has no schema: pass a schema for the arguments as "inputSchema"');
  const own = overrides.inputSchema === undefined ? foreign.schema?.jsonSchema : undefined;
  const parse: ParseArgs = (args) =>
    whenReady(validateArgs(inputSchema, args), (checked) => ("issues" in checked ? undefined : checked));
  const { timeoutMs, outputSchema, replay } = foreign;
  const made: object = {
    description: typeof foreign.description === "string" ? foreign.description : "",
    ...definedOf({ jsonSchema: own, timeoutMs, outputSchema, replay }),
    ...approvalOf(foreign, parse),
    ...definedOf(overrides),
    inputSchema: foreign.parses && isStandardSchema(inputSchema) ? keepArgs(inputSchema) : inputSchema,
    execute: foreign.execute,
  };
  assertTool(made);
  // Converts the schema only to report an invalid one now rather than in the first run.
  toJsonSchema(made.jsonSchema ?? made.inputSchema, name);
  return { ...made, execute: foreign.execute };
}

function definedOf(fields: object): object {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
}

function approvalOf({ needsApproval }: ForeignTool, parse: ParseArgs): Pick<ToolTraits, "needsApproval"> {
  const mark = needsApproval?.(parse) ?? false;
  return mark === false ? {} : { needsApproval: mark };
}
