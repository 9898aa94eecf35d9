// Some tools of a registry.

import type { ToolRegistry } from "../types/loop-options.ts";
import type { ToolDefinition } from "../types/tool.ts";
import { invalidOption, isFunction, isText } from "../errors/check-fields.ts";
import { toRegistry, type ToolSource } from "./registry.ts";
import { routeRegistries } from "./route-registries.ts";

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
