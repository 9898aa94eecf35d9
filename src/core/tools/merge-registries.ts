// Combines registries into one. Does not copy their tools, because a registry may change its tools at any time.

import type { ToolContext, ToolRegistry } from "../types/loop-options.ts";
import type { Validation } from "../types/common.ts";
import type { ToolDefinition } from "../types/tool.ts";
import { invalidOption, LoopError } from "../../shared/errors/loop-error.ts";
import { quote } from "../../shared/texts.ts";
import { toolResult } from "./tool-result.ts";
import { refuseTool } from "./define-tool.ts";
import { type ToolSource, toRegistry } from "./registry.ts";
import { isFunction, isText } from "../../shared/errors/check-fields.ts";

interface Member {
  readonly registry: ToolRegistry;
  nameOf(definition: ToolDefinition): string | undefined;
}

interface Route {
  readonly registry: ToolRegistry;
  readonly name: string;
}

interface Table {
  /** The arrays of definitions from which the table was built. The table is valid as long as the members return the same arrays. */
  readonly sources: readonly (readonly ToolDefinition[])[];
  readonly definitions: readonly ToolDefinition[];
  readonly routes: ReadonlyMap<string, Route>;
}

/**
 * Combines registries into one. Each method reads the current definitions of all members, so that a removed tool cannot be called. This
 * function, and later each method, throws LoopError "duplicate-tool" if two tools have the same name.
 */
function routeRegistries(members: readonly Member[]): ToolRegistry {
  let table: Table = { sources: [], definitions: [], routes: new Map() };
  const current = (): Table => {
    // Calls `definitions()` only once per member, because a second call would double the work at each level of combined registries.
    const sources = members.map(({ registry }) => registry.definitions());
    if (sources.some((source, index) => source !== table.sources[index])) table = makeTable(members, sources);
    return table;
  };
  current();
  return {
    definitions: () => current().definitions,
    executeTool(name: string, args: unknown, context: ToolContext): unknown {
      const route = current().routes.get(name);
      if (route === undefined) return toolResult({ success: false, error: `The tool ${quote(name)} is not available.` });
      return route.registry.executeTool(route.name, args, context);
    },
    validate(name: string, args: unknown): Validation | Promise<Validation> {
      const route = current().routes.get(name);
      if (route === undefined) return { issues: [{ message: `the tool ${quote(name)} is not available` }] };
      return route.registry.validate?.(route.name, args) ?? { value: args, unchecked: true };
    },
    validateResult(name: string, result: unknown): Validation | Promise<Validation> {
      const route = current().routes.get(name);
      return route?.registry.validateResult?.(route.name, result) ?? { value: result, unchecked: true };
    },
  };
}

function makeTable(members: readonly Member[], sources: Table["sources"]): Table {
  const definitions: ToolDefinition[] = [];
  const routes = new Map<string, Route>();
  for (const [index, { registry, nameOf }] of members.entries()) {
    for (const definition of sources[index] ?? []) {
      const name = nameOf(definition);
      if (name === undefined) continue;
      if (routes.has(name)) throw new LoopError("duplicate-tool", { toolName: name });
      routes.set(name, { registry, name: definition.name });
      definitions.push(name === definition.name ? definition : { ...definition, name });
    }
  }
  return { sources, definitions: Object.freeze(definitions), routes };
}

/**
 * Combines several registries or arrays of tools, in the given order. Each call goes to the registry that has the tool. That
 * registry also validates the arguments with `validate`, and results from outside the run with `validateResult`, if it has these
 * methods. Tools may be added to and removed from each registry later.
 *
 * Throws LoopError "duplicate-tool" if two sources have a tool with the same name. If two tools have the same name later,
 * `definitions()` throws this error, which ends a run as "hook-failed". Throws "invalid-option" if a source is neither an array
 * of tools nor a registry.
 *
 * @example
 * await runToolLoop({ provider, tools: mergeRegistries(mailTools, withPrefix(remoteTools, "crm_"), [weather]), messages });
 */
export function mergeRegistries(...sources: readonly ToolSource[]): ToolRegistry {
  const members = sources.map((source, index) => toRegistry(source, `mergeRegistries[${index}]`));
  return routeRegistries(members.map((registry) => ({ registry, nameOf: ({ name }) => name })));
}

/**
 * Adds a prefix to the name of each tool, so that tools from several sources do not collide. `source` still receives the names
 * without the prefix. `context.name` in a tool is the name with the prefix, as the model used it.
 *
 * Throws LoopError "invalid-option" if the prefix is not 1 to 63 letters, digits, "_" or "-". Throws "invalid-tool" if a name
 * becomes longer than 64 characters.
 *
 * @example
 * withPrefix(createToolRegistry([search]), "web_"); // "web_search"
 */
export function withPrefix(source: ToolSource, prefix: string): ToolRegistry {
  if (typeof prefix !== "string" || !/^[\w-]{1,63}$/.test(prefix)) {
    throw invalidOption("prefix", 'a string of 1 to 63 letters, digits, "_" or "-"', prefix);
  }
  const nameOf = ({ name }: { readonly name: string }): string => {
    const longer = prefix + name;
    if (longer.length <= 64) return longer;
    throw refuseTool(longer, `has a name of ${longer.length} characters, but providers accept at most 64: use a shorter prefix`);
  };
  return routeRegistries([{ registry: toRegistry(source, "withPrefix"), nameOf }]);
}

/** The names of the tools to keep, or a function that returns true for each tool to keep. */
export type ToolFilter = Iterable<string> | ((definition: ToolDefinition) => boolean);

/**
 * Creates a registry with only some of the tools in `source`. The other tools are hidden from the model and cannot be called. A filter
 * function is called again whenever the definitions of `source` change. A list of names is copied, and may include tools that do
 * not exist yet.
 *
 * Throws LoopError "invalid-option" if the filter is neither a list of names nor a function. Also throws if the function returns
 * a value other than true or false.
 *
 * @example
 * withFilter(remoteTools, ["search", "read"]);
 * withFilter(remoteTools, ({ name }) => !name.startsWith("delete_"));
 */
export function withFilter(source: ToolSource, filter: ToolFilter): ToolRegistry {
  const keeps = toPredicate(filter);
  const registry = toRegistry(source, "withFilter");
  return routeRegistries([{ registry, nameOf: (definition) => (keeps(definition) ? definition.name : undefined) }]);
}

function toPredicate(filter: ToolFilter): (definition: ToolDefinition) => boolean {
  if (typeof filter === "function") return (definition) => assertAnswer(filter(definition));
  const given: unknown = filter;
  const names = isIterable(given) ? [...given] : undefined;
  if (names === undefined || !names.every(isText))
    throw invalidOption("filter", "an array or a set of tool names, or a function", given);
  const kept = new Set(names);
  return ({ name }) => kept.has(name);
}

/** Throws unless the filter returned true or false. A promise, for example, is truthy and would keep every tool. */
function assertAnswer(answer: unknown): boolean {
  if (typeof answer === "boolean") return answer;
  throw invalidOption("filter", "a function that returns true or false", answer);
}

function isIterable(value: unknown): value is Iterable<unknown> {
  return typeof value === "object" && value !== null && isFunction(Reflect.get(value, Symbol.iterator));
}
