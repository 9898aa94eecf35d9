// One registry in front of others: which tools of theirs it shows, under which names, and whom a call goes to.

import type { Agent, ToolContext, ToolRegistry } from "../types/loop-options.ts";
import type { Validation } from "../types/schema.ts";
import type { ToolDefinition } from "../types/tool.ts";
import { LoopError } from "../errors/loop-error.ts";
import { quote } from "../utils/describe-value.ts";
import { toolResult } from "./tool-result.ts";

/** A registry behind another one. */
export interface Member {
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
  /** What it was made of: the same arrays mean that nothing has changed. */
  readonly sources: readonly (readonly ToolDefinition[])[];
  readonly definitions: readonly ToolDefinition[];
  readonly routes: ReadonlyMap<string, Route>;
}

/**
 * Puts one registry in front of others. It looks at their definitions whenever it is asked anything, so that a tool which has gone cannot be
 * called. Throws LoopError "duplicate-tool" where two tools have one name: at once, and whenever it comes to be so.
 */
export function routeRegistries(members: readonly Member[]): ToolRegistry {
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
