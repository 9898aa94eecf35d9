// The registry of tools.

import type { Agent, Tool, ToolContext, ToolRegistry } from "../types/loop-options.ts";
import type { ToolDefinition } from "../types/tool.ts";
import { dropPromise } from "../utils/promises.ts";
import { isRecord } from "../utils/guards.ts";
import { LoopError } from "../errors/loop-error.ts";
import { describeValue, quote } from "../utils/texts.ts";
import { invalidOption } from "../errors/check-fields.ts";
import { findSchemaProblem, toJsonSchema, validateArgs } from "./argument-schema.ts";
import type { Validation } from "../types/common.ts";
import { assertTool, traitChecks } from "./define-tool.ts";
import { toolResult } from "./to-outcome.ts";

/** The tool of this name, as it is now. A registry that fails here has no tool. */
export function findTool(registry: ToolRegistry, name: string): ToolDefinition | undefined {
  try {
    return registry.definitions().find((tool) => tool.name === name);
  } catch {
    return undefined;
  }
}

/** How the calls of a tool become runs. A registry that fails here has no agent, so that its tools run as tools. */
export function findAgent(registry: ToolRegistry, name: string): Agent | undefined {
  try {
    const agent: unknown = registry.agentOf?.(name);
    if (isRecord(agent) && agent["kind"] === "agent" && typeof agent["run"] === "function") return agent as unknown as Agent;
    dropPromise(agent);
  } catch {
    // As above.
  }
  return undefined;
}

/** An error about a tool; `problem` reads on after its name. */
export function refuseTool(toolName: unknown, problem: string): LoopError<"invalid-tool"> {
  return new LoopError("invalid-tool", { toolName: typeof toolName === "string" ? toolName : "", problem });
}

/** A registry of the caller's own may hold two tools of one name, of which only one could be called, limits that no timer takes, or masking that masks nothing. */
export function checkDefinitions(definitions: readonly ToolDefinition[]): void {
  const seen = new Set<string>();
  for (const { name, timeoutMs, idleTimeoutMs, masking, inputSchema } of definitions) {
    if (seen.has(name)) throw new LoopError("duplicate-tool", { toolName: name });
    seen.add(name);
    checkTrait(name, "timeoutMs", timeoutMs);
    checkTrait(name, "idleTimeoutMs", idleTimeoutMs);
    checkTrait(name, "masking", masking);
    const problem = isRecord(inputSchema) ? findSchemaProblem(inputSchema) : `is not JSON: ${describeValue(inputSchema)}`;
    if (problem !== "") throw new LoopError("invalid-schema", { toolName: name, problem });
  }
}

function checkTrait(toolName: string, trait: "timeoutMs" | "idleTimeoutMs" | "masking", value: unknown): void {
  const expected = traitChecks[trait](value);
  if (expected === undefined) return;
  throw refuseTool(toolName, `must have as "${trait}" ${expected}, but has ${describeValue(value)}`);
}

/** A registry whose tools may come and go. A running loop sees the change on its next iteration. */
export interface MutableToolRegistry extends ToolRegistry {
  /** Adds a tool. Throws LoopError "duplicate-tool", "invalid-tool" or "invalid-schema". */
  register(tool: Tool): void;
  /** Takes a tool out; false where there was none of that name. */
  unregister(name: string): boolean;
  validate(name: string, args: unknown): Validation | Promise<Validation>;
  agentOf(name: string): Agent | undefined;
}

/** Tools, or a registry of them. */
export type ToolSource = ToolRegistry | readonly Tool[];

interface Entry {
  readonly tool: Tool;
  readonly definition: ToolDefinition;
}

/**
 * Makes a registry of tools, in their order. `executeTool` gives what the tool gives, a value or a promise. `validate` checks
 * arguments where the tool has a Standard Schema; plain JSON Schema is shown to the model and not enforced. A tool that is
 * asked for and not there is a failed result.
 *
 * Throws LoopError "invalid-option" where `tools` is no array, and what `register` throws.
 *
 * @example
 * const registry = createToolRegistry([weather]);
 * registry.register(search);
 * await runToolLoop({ provider, tools: registry, messages });
 */
export function createToolRegistry(tools: readonly Tool[] = []): MutableToolRegistry {
  const given: unknown = tools;
  if (!Array.isArray(given)) throw invalidOption("tools", "an array of tools", given);
  const entries = new Map<string, Entry>();
  // Kept until something changes, because the loop takes the same array for unchanged tools.
  let definitions: readonly ToolDefinition[] | undefined;

  const register = (tool: Tool): void => {
    assertTool(tool);
    if (entries.has(tool.name)) throw new LoopError("duplicate-tool", { toolName: tool.name });
    entries.set(tool.name, { tool, definition: toDefinition(tool) });
    definitions = undefined;
  };
  for (const tool of tools) register(tool);

  return {
    register,
    unregister(name: string): boolean {
      const had = entries.delete(name);
      if (had) definitions = undefined;
      return had;
    },
    definitions(): readonly ToolDefinition[] {
      definitions ??= Object.freeze(Array.from(entries.values(), ({ definition }) => definition));
      return definitions;
    },
    executeTool(name: string, args: unknown, context: ToolContext): unknown {
      const entry = entries.get(name);
      if (entry === undefined) return toolResult({ success: false, error: `The tool ${quote(name)} is not available.` });
      // A tool takes what its own schema gives, and that is what `validate` gave.
      return entry.tool.execute(args as never, context);
    },
    validate(name: string, args: unknown): Validation | Promise<Validation> {
      const entry = entries.get(name);
      if (entry === undefined) return { issues: [{ message: `the tool ${quote(name)} is not available` }] };
      return validateArgs(entry.tool.inputSchema, args);
    },
    agentOf(name: string): Agent | undefined {
      return entries.get(name)?.tool.agent;
    },
  };
}

/** True for anything that can serve as a tool registry. */
export function isToolRegistry(value: unknown): value is ToolRegistry {
  return (
    isRecord(value) &&
    typeof value["definitions"] === "function" &&
    typeof value["executeTool"] === "function" &&
    isMethodOrNone(value["validate"]) &&
    isMethodOrNone(value["agentOf"])
  );
}

function isMethodOrNone(value: unknown): boolean {
  return value === undefined || typeof value === "function";
}

/** A registry of tools, or the one that was given. Throws LoopError "invalid-option" for anything else, and what `createToolRegistry` throws. */
export function toRegistry(source: ToolSource, option: string): ToolRegistry {
  const given: unknown = source;
  if (Array.isArray(given)) return createToolRegistry(given);
  if (!isToolRegistry(given)) throw invalidOption(option, "an array of tools, or a registry", given);
  return given;
}

/** The model sees name, description and JSON Schema; the loop reads the traits. */
function toDefinition(tool: Tool): ToolDefinition {
  const { name, description, inputSchema, jsonSchema = inputSchema } = tool;
  // Asked for by name, because the tool may be an instance of a class with getters.
  const traits = Object.keys(traitChecks).map((trait) => [trait, Reflect.get(tool, trait)] as const);
  const given = Object.fromEntries(traits.filter(([, value]) => value !== undefined));
  // Hooks and providers are shown it.
  return Object.freeze({ ...given, name, description, inputSchema: toJsonSchema(jsonSchema, name) });
}
