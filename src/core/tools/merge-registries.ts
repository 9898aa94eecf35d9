// Registries made of others: merged, prefixed and filtered.

import type { Agent, ToolContext, ToolRegistry } from "../types/loop-options.ts";
import type { Validation } from "../types/common.ts";
import type { ToolDefinition } from "../types/tool.ts";
import { LoopError } from "../errors/loop-error.ts";
import { quote } from "../utils/texts.ts";
import { toolResult } from "./to-outcome.ts";
import { refuseTool, type ToolSource, toRegistry } from "./registry.ts";
import { invalidOption, isFunction, isText } from "../errors/check-fields.ts";

/** A registry behind another one. */
interface Member {
  readonly registry: ToolRegistry;
  /** The name under which a tool is shown; undefined leaves it out. */
  nameOf(definition: ToolDefinition): string | undefined;
}

/** Whom a call goes to, and under which name. */
interface Route {
  readonly registry: ToolRegistry;
  readonly name: string;
}

interface Table {
  /** The arrays that it was made of: the same arrays mean that nothing has changed. */
  readonly sources: readonly (readonly ToolDefinition[])[];
  readonly definitions: readonly ToolDefinition[];
  readonly routes: ReadonlyMap<string, Route>;
}

/**
 * Puts one registry in front of others. It looks at their definitions whenever it is asked anything, so that a tool which has gone cannot be
 * called. Throws LoopError "duplicate-tool" where two tools have one name: at once, and whenever it comes to be so.
 */
function routeRegistries(members: readonly Member[]): ToolRegistry {
  let table: Table = { sources: [], definitions: [], routes: new Map() };
  const current = (): Table => {
    // Asked once: what gives a new array each time would be asked twice as often by each registry in front of it.
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
 * Makes one registry of several, or of arrays of tools, in their order. Each call goes to the registry that has its tool, which also checks
 * the arguments; the tools of a registry without `validate` stay unchecked. Tools may come and go in each.
 *
 * Throws LoopError "duplicate-tool" where two of them have a tool of one name: at once, and from `definitions()` when it comes to be so
 * later, which ends a run as "hook-failed"; and "invalid-option" for what is neither tools nor a registry.
 *
 * @example
 * await runToolLoop({ provider, tools: mergeRegistries(mailTools, withPrefix(remoteTools, "crm_"), [weather]), messages });
 */
export function mergeRegistries(...sources: readonly ToolSource[]): ToolRegistry {
  const members = sources.map((source, index) => toRegistry(source, `mergeRegistries[${index}]`));
  return routeRegistries(members.map((registry) => ({ registry, nameOf: ({ name }) => name })));
}

/**
 * Puts a prefix in front of each name, so that tools from several places do not get in each other's way. The registry behind it hears its
 * own names; `name` of a tool's context is the name that the model used.
 *
 * Throws LoopError "invalid-option" for a prefix that is not made of letters, digits, "_" and "-", and "invalid-tool" where a name becomes
 * longer than 64 characters.
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

/** The names that stay, or a function that says of each definition whether its tool does. */
export type ToolFilter = Iterable<string> | ((definition: ToolDefinition) => boolean);

/**
 * Shows some tools of a registry. The others cannot be called either, whatever a model makes up. A function is asked anew whenever the
 * registry's definitions change; names are copied, and may be those of tools that are not there yet.
 *
 * Throws LoopError "invalid-option" for a filter that is neither names nor a function, and where the function gives anything but true or
 * false.
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
  // A text is an iterable of its characters, and was meant as one name.
  const names = isIterable(given) ? [...given] : undefined;
  if (names === undefined || !names.every(isText))
    throw invalidOption("filter", "tool names in an array or a set, or a function", given);
  const kept = new Set(names);
  return ({ name }) => kept.has(name);
}

/** A promise is truthy, and would keep every tool. */
function assertAnswer(answer: unknown): boolean {
  if (typeof answer === "boolean") return answer;
  throw invalidOption("filter", "a function that gives true or false", answer);
}

function isIterable(value: unknown): value is Iterable<unknown> {
  return typeof value === "object" && value !== null && isFunction(Reflect.get(value, Symbol.iterator));
}
