// Converts tools of other libraries.

import {
  assertTool,
  describeValue,
  type ExecutableTool,
  invalidOption,
  isRecord,
  isStandardSchema,
  isThenable,
  type JsonSchema,
  quote,
  refuseTool,
  toJsonSchema,
  type ToolSchema,
  type ToolTraits,
  type UnknownRecord,
  validateArgs,
  whenReady,
} from "../core/entry-kit.ts";
import { type ForeignTool, isCallable, keepArgs, type ParseArgs } from "./foreign-tool.ts";
import { fromAiSdk } from "./from-ai-sdk.ts";
import { fromAnthropic } from "./from-anthropic.ts";
import { fromLangChain } from "./from-langchain.ts";
import { fromOpenAiAgents } from "./from-openai-agents.ts";

/** The supported libraries. */
type ForeignKind = "ai-sdk" | "openai-agents" | "anthropic" | "langchain";

/** The kind of a tool, or why it has none. `problem` follows the name of the tool. */
type FoundKind = { readonly kind: ForeignKind } | { readonly problem: string };

interface Shape {
  readonly kind: ForeignKind;
  readonly label: string;
  /** Returns true if the tool has the distinguishing fields of this kind. */
  looksLike(tool: UnknownRecord): boolean;
  /** The fields that are required to run it, with their checks. */
  readonly needs: readonly (readonly [field: string, fits: (value: unknown) => boolean])[];
}

/** Schemas of some libraries are functions. */
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
      ["execute", isCallable],
    ],
  },
];

const known =
  '"inputSchema" and "execute" (AI SDK), "parameters" and "invoke" (OpenAI Agents), "input_schema" and "run" (Anthropic), or "schema" and "invoke" (LangChain)';

/** Finds the kind of a tool. */
function findKind(tool: UnknownRecord): FoundKind {
  const shape = shapes.find(({ looksLike }) => looksLike(tool));
  if (shape === undefined) return { problem: describeStranger(tool) };
  if (isProviderTool(tool) && tool["execute"] === undefined) {
    return { problem: `is run by its provider (${quote(String(tool["id"]))}): there is no function of it to call here` };
  }
  const missing = shape.needs.find(([field, fits]) => !fits(tool[field]));
  if (missing === undefined) return { kind: shape.kind };
  const [field] = missing;
  const why =
    field.endsWith("chema") || field === "parameters" ? "no arguments can be shown for it" : "nothing of it could be run here";
  return { problem: `looks like one of ${shape.label}, but has no ${quote(field)}: ${why}` };
}

function isProviderTool({ type }: UnknownRecord): boolean {
  return type === "provider" || type === "provider-defined";
}

/** Describes an unknown tool. A tool that runs elsewhere has a type; anything else is not a tool. */
function describeStranger({ type }: UnknownRecord): string {
  return typeof type === "string"
    ? `is of type ${quote(type)}, which is run elsewhere: it has none of ${known}`
    : `is of no known kind: it has none of ${known}`;
}

/** Replacements for fields of the imported tool, and further traits. */
export interface ImportOverrides extends ToolTraits {
  readonly name?: string | undefined;
  readonly description?: string | undefined;
  /** Validates the arguments, and is shown to the model, instead of the tool's own schema. */
  readonly inputSchema?: ToolSchema | undefined;
  /** Shown to the model. Needed if the schema cannot be converted to JSON Schema. */
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
 * `betaTool`) or LangChain (`tool()`, StructuredTool). It is recognized by its shape; none of those packages is loaded.
 *
 * Its schema is shown to the model and validates the arguments, and it gets the call's signal. Its results and errors become
 * those of the call, including images and files. Its approval setting becomes the trait `needsApproval`. `overrides` take
 * precedence over the tool's own fields. Tools of the AI SDK contain no name, so pass one.
 *
 * Throws LoopError "invalid-tool" if the value is not such a tool, has no name, or is run by its provider. Throws
 * "invalid-schema" if its schema cannot be converted and there is no `jsonSchema`.
 *
 * @example
 * const weather = importTool(aiSdkWeather, { name: "get_weather", timeoutMs: 10_000 });
 * await runToolLoop({ provider, tools: [weather], messages });
 */
export function importTool(tool: object, overrides: ImportOverrides = {}): ExecutableTool<unknown> {
  const given: unknown = tool;
  if (!isRecord(given)) throw refuseTool("", `must be an object, but is ${describeValue(given)}`);
  const name = overrides.name ?? given["name"];
  const found = findKind(given);
  if ("problem" in found) throw refuseTool(name, found.problem);
  const foreign = readers[found.kind](given, name);
  if (typeof name !== "string") {
    throw refuseTool("", "has no name: import it as importTool(tool, { name }), or as importTools({ name: tool })");
  }
  return assemble(foreign, { ...overrides, name });
}

/**
 * Imports several tools: an array of tools with names, or an object of tools by name, as in the AI SDK. The name in the object
 * takes precedence. `overrides` are by name.
 *
 * Throws the errors of `importTool`, and LoopError "invalid-option" if `tools` is neither.
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
    throw invalidOption("tools", "an array of tools, or an object of tools by name", given);
  const named = Array.isArray(tools)
    ? tools.map((tool: object): readonly [unknown, object] => [Reflect.get(Object(tool), "name"), tool])
    : Object.entries(tools);
  return named.map(([name, tool]) => {
    if (typeof name !== "string") return importTool(tool);
    return importTool(tool, { name, ...overrides[name] });
  });
}

/** Excludes a promise, a Map and a Set, which would look like an object without tools. */
function hasNames(given: unknown): boolean {
  return isRecord(given) && !isThenable(given) && !(Symbol.iterator in given);
}

function assemble(foreign: ForeignTool, overrides: ImportOverrides & { readonly name: string }): ExecutableTool<unknown> {
  const { name } = overrides;
  const inputSchema = overrides.inputSchema ?? foreign.schema?.inputSchema;
  if (inputSchema === undefined) throw refuseTool(name, 'has no schema of its own: say what it takes as "inputSchema"');
  const own = overrides.inputSchema === undefined ? foreign.schema?.jsonSchema : undefined;
  const parse: ParseArgs = (args) =>
    whenReady(validateArgs(inputSchema, args), (checked) => ("issues" in checked ? undefined : checked));
  const said = Object.fromEntries(Object.entries(overrides).filter(([, value]) => value !== undefined));
  const made: object = {
    description: typeof foreign.description === "string" ? foreign.description : "",
    ...(own === undefined ? {} : { jsonSchema: own }),
    ...(foreign.timeoutMs === undefined ? {} : { timeoutMs: foreign.timeoutMs }),
    ...approvalOf(foreign, parse),
    ...said,
    inputSchema: foreign.parses && isStandardSchema(inputSchema) ? keepArgs(inputSchema) : inputSchema,
    execute: foreign.execute,
  };
  assertTool(made);
  // Reports a schema that cannot be converted now, not when the first run starts.
  toJsonSchema(made.jsonSchema ?? made.inputSchema, name);
  return { ...made, execute: foreign.execute };
}

function approvalOf({ needsApproval }: ForeignTool, parse: ParseArgs): Pick<ToolTraits, "needsApproval"> {
  const mark = needsApproval?.(parse) ?? false;
  return mark === false ? {} : { needsApproval: mark };
}
