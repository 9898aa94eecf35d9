// Registries made from others: merged, prefixed and filtered.

import type { Agent, ToolContext, ToolRegistry } from "../types/loop-options.ts";
import type { Validation } from "../types/common.ts";
import type { ToolDefinition } from "../types/tool.ts";
import { LoopError } from "../errors/loop-error.ts";
import { quote } from "../utils/texts.ts";
import { toolResult } from "./to-outcome.ts";
import { refuseTool } from "./define-tool.ts";
import { type ToolSource, toRegistry } from "./registry.ts";
import { invalidOption, isFunction, isText } from "../errors/check-fields.ts";

/** A registry inside another one. */
interface Member {
  readonly registry: ToolRegistry;
  /** Returns the name under which a tool is shown; undefined leaves it out. */
  nameOf(definition: ToolDefinition): string | undefined;
}

/** The registry of a tool, and its name there. */
interface Route {
  readonly registry: ToolRegistry;
  readonly name: string;
}

interface Table {
  /** The arrays that it was made from. The same arrays mean that nothing has changed. */
  readonly sources: readonly (readonly ToolDefinition[])[];
  readonly definitions: readonly ToolDefinition[];
  readonly routes: ReadonlyMap<string, Route>;
}

/**
 * Combines registries into one. Each use reads their current definitions, so that a removed tool cannot be called. Throws
 * LoopError "duplicate-tool" if two tools have the same name, now or later.
 */
function routeRegistries(members: readonly Member[]): ToolRegistry {
  let table: Table = { sources: [], definitions: [], routes: new Map() };
  const current = (): Table => {
    // Read once: in a chain of registries, reading twice would double the reads at each level.
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
    agentOf(name: string): Agent | undefined {
      const route = current().routes.get(name);
      return route?.registry.agentOf?.(route.name);
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
 * Combines several registries, or arrays of tools, in their order. Each call goes to the registry of its tool, which also
 * validates the arguments and results from outside. The tools of a registry without `validate` are not validated. Tools may be added and removed in each
 * registry.
 *
 * Throws LoopError "duplicate-tool" if two of them have a tool of the same name. If that happens later, `definitions()` throws
 * it, which ends a run as "hook-failed". Throws "invalid-option" for anything that is neither tools nor a registry.
 *
 * @example
 * await runToolLoop({ provider, tools: mergeRegistries(mailTools, withPrefix(remoteTools, "crm_"), [weather]), messages });
 */
export function mergeRegistries(...sources: readonly ToolSource[]): ToolRegistry {
  const members = sources.map((source, index) => toRegistry(source, `mergeRegistries[${index}]`));
  return routeRegistries(members.map((registry) => ({ registry, nameOf: ({ name }) => name })));
}

/**
 * Adds a prefix to each name, so that tools from several sources do not collide. The inner registry gets its own names. The
 * `name` in a tool's context is the name that the model used.
 *
 * Throws LoopError "invalid-option" if the prefix has characters other than letters, digits, "_" and "-", and "invalid-tool" if a
 * name becomes longer than 64 characters.
 *
 * @example
 * withPrefix(createToolRegistry([search]), "web_"); // "web_search"
 */
export function withPrefix(source: ToolSource, prefix: string): ToolRegistry {
  if (typeof prefix !== "string" || !/^[\w-]{1,63}$/.test(prefix)) {
    throw invalidOption("prefix", '1 to 63 letters, digits, "_" or "-"', prefix);
  }
  const nameOf = ({ name }: { readonly name: string }): string => {
    const longer = prefix + name;
    if (longer.length <= 64) return longer;
    throw refuseTool(longer, `has a name of ${longer.length} characters, of which providers take 64: choose a shorter prefix`);
  };
  return routeRegistries([{ registry: toRegistry(source, "withPrefix"), nameOf }]);
}

/** The names to keep, or a function that returns true for each definition to keep. */
export type ToolFilter = Iterable<string> | ((definition: ToolDefinition) => boolean);

/**
 * Shows only some tools of a registry. The others cannot be called either. A function is called again whenever the definitions of
 * the registry change. Names are copied, and may include tools that do not exist yet.
 *
 * Throws LoopError "invalid-option" for a filter that is neither names nor a function, and if the function returns anything but
 * true or false.
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
  // A string is an iterable of its characters, but was meant as one name.
  const names = isIterable(given) ? [...given] : undefined;
  if (names === undefined || !names.every(isText))
    throw invalidOption("filter", "tool names in an array or a set, or a function", given);
  const kept = new Set(names);
  return ({ name }) => kept.has(name);
}

/** Requires a boolean: a promise is truthy, and would keep every tool. */
function assertAnswer(answer: unknown): boolean {
  if (typeof answer === "boolean") return answer;
  throw invalidOption("filter", "a function that gives true or false", answer);
}

function isIterable(value: unknown): value is Iterable<unknown> {
  return typeof value === "object" && value !== null && isFunction(Reflect.get(value, Symbol.iterator));
}
