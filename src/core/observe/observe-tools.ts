// Tools whose calls are watched: each runs in a context of the observer's, and so do the runs inside it.

import type { Agent, LoopOptions, NestedLoopOptions, ToolContext, ToolRegistry } from "../types/loop-options.ts";
import { isRecord } from "../utils/is-record.ts";
import { whenReady } from "../utils/when-ready.ts";
import { findAgent } from "../tools/find-tool.ts";
import { createToolRegistry, isToolRegistry } from "../tools/registry.ts";
import type { RunObserver, StartObserving } from "./run-observer.ts";

/** What watching tools takes. */
export interface ToolPorts {
  /** Who watches the run that a call belongs to. */
  observerOf(call: ToolContext): RunObserver | undefined;
  /** Options of a run inside a call, watched. */
  observeNested(options: NestedLoopOptions, start: StartObserving): NestedLoopOptions;
}

/** The registry that a run would make of its tools; undefined where it has none, or would refuse them and is to say so itself. */
export function toRegistry({ tools, policies }: Pick<LoopOptions, "tools" | "policies">): ToolRegistry | undefined {
  if (isToolRegistry(tools)) return tools;
  if (!Array.isArray(tools)) return undefined;
  // Whether a model is pointed to a tool that is not there is only found in an array.
  const needed = policies?.results?.cacher?.toolName;
  if (needed !== undefined && !tools.some((tool: unknown) => isRecord(tool) && tool["name"] === needed)) return undefined;
  try {
    return createToolRegistry(tools);
  } catch {
    return undefined;
  }
}

/** Watches the calls of a registry. It has the optional methods that the registry has. */
export function observeRegistry(registry: ToolRegistry, ports: ToolPorts): ToolRegistry {
  const { validate, agentOf } = registry;
  return {
    definitions: () => registry.definitions(),
    executeTool(name, args, context) {
      const observer = ports.observerOf(context);
      if (observer === undefined) return registry.executeTool(name, args, context);
      return observer.runTool(context, () => registry.executeTool(name, args, withNesting(context, observer, ports)));
    },
    ...(validate !== undefined && { validate: (name, args) => validate.call(registry, name, args) }),
    ...(agentOf !== undefined && {
      agentOf: (name) => {
        const agent = findAgent(registry, name);
        return agent && observeAgent(agent, ports);
      },
    }),
  };
}

function observeAgent(agent: Agent, ports: ToolPorts): Agent {
  return {
    prepare(args, context) {
      const observer = ports.observerOf(context);
      if (observer === undefined) return agent.prepare(args, context);
      return observer.runTool(context, () => {
        // Asked before anything is waited for, in the context of the call.
        const start = observer.nest(context);
        const prepared = agent.prepare(args, withNesting(context, observer, ports));
        return whenReady(prepared, (options) => ports.observeNested(options, start));
      });
    },
    toResult: (result) => agent.toResult(result),
  };
}

/** A proxy, because the getters of a context only work on the context itself, and most calls ask for none of them. */
function withNesting(context: ToolContext, observer: RunObserver, ports: ToolPorts): ToolContext {
  const runToolLoop: ToolContext["runToolLoop"] = (options) =>
    context.runToolLoop(ports.observeNested(options, observer.nest(context)));
  return new Proxy(context, {
    get: (target, key): unknown => (key === "runToolLoop" ? runToolLoop : Reflect.get(target, key, target)),
  });
}
