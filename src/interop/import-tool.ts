// Tools that were written for another library, as tools of ours.

import {
  assertTool,
  describeValue,
  invalidOption,
  isRecord,
  isStandardSchema,
  isThenable,
  type JsonSchema,
  refuseTool,
  toJsonSchema,
  type Tool,
  type ToolSchema,
  type ToolTraits,
  type UnknownRecord,
  validateArgs,
  whenReady,
} from "../core/entry-kit.ts";
import { findKind, type ForeignKind } from "./find-kind.ts";
import { keepArgs } from "./foreign-schema.ts";
import { type ForeignTool, type ParseArgs } from "./foreign-tool.ts";
import { fromAiSdk } from "./from-ai-sdk.ts";
import { fromAnthropic } from "./from-anthropic.ts";
import { fromLangChain } from "./from-langchain.ts";
import { fromOpenAiAgents } from "./from-openai-agents.ts";

/** What is said in place of what a foreign tool says of itself, and the traits that it has no words for. */
export interface ImportOverrides extends ToolTraits {
  readonly name?: string | undefined;
  readonly description?: string | undefined;
  /** Checks the arguments, and is shown to the model, in place of the tool's own schema. */
  readonly inputSchema?: ToolSchema | undefined;
  /** Shown to the model; needed where the schema cannot become JSON Schema by itself. */
  readonly jsonSchema?: JsonSchema | undefined;
}

const readers: { readonly [Kind in ForeignKind]: (tool: UnknownRecord, name: unknown) => ForeignTool } = {
  "ai-sdk": fromAiSdk,
  "openai-agents": fromOpenAiAgents,
  anthropic: fromAnthropic,
  langchain: fromLangChain,
};

/**
 * Makes a tool of one that was written for the AI SDK (`tool()`), OpenAI Agents (`tool()`), the Anthropic SDK (`betaZodTool`, `betaTool`)
 * or LangChain (`tool()`, StructuredTool). It is told by its shape; nothing of those packages is loaded. Its schema is shown to the model
 * and checks what comes back, it gets the call's signal, its results and failures are the call's, its images and files reach the model,
 * and its approval mark is the trait `needsApproval`. `overrides` win over what the tool says; tools of the AI SDK have no name inside.
 *
 * Throws LoopError "invalid-tool" for what is no such tool, has no name, or is run by its provider, and "invalid-schema" where its schema
 * cannot become JSON Schema and no `jsonSchema` is given.
 *
 * @example
 * const weather = importTool(aiSdkWeather, { name: "get_weather", timeoutMs: 10_000 });
 * await runToolLoop({ provider, tools: [weather], messages });
 */
export function importTool(tool: object, overrides: ImportOverrides = {}): Tool<unknown> {
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
 * Imports several tools: an array of tools that have names, or an object of tools by name, as the AI SDK takes them. The name in the object
 * wins. `overrides` are by name.
 *
 * Throws as `importTool` does, and LoopError "invalid-option" where `tools` is neither.
 *
 * @example
 * const tools = importTools({ get_weather, send_mail }, { send_mail: { needsApproval: true } });
 */
export function importTools(
  tools: readonly object[] | { readonly [name: string]: object },
  overrides: { readonly [name: string]: ImportOverrides } = {},
): readonly Tool<unknown>[] {
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

/** A promise, a Map and a Set are objects too, and would be read as ones without any tool. */
function hasNames(given: unknown): boolean {
  return isRecord(given) && !isThenable(given) && !(Symbol.iterator in given);
}

function assemble(foreign: ForeignTool, overrides: ImportOverrides & { readonly name: string }): Tool<unknown> {
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
  // A schema that cannot be shown is said here, and not where the first run starts.
  toJsonSchema(made.jsonSchema ?? made.inputSchema, name);
  return { ...made, execute: foreign.execute };
}

function approvalOf({ needsApproval }: ForeignTool, parse: ParseArgs): Pick<ToolTraits, "needsApproval"> {
  const mark = needsApproval?.(parse) ?? false;
  return mark === false ? {} : { needsApproval: mark };
}
