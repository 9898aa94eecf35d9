// Builds registries from a run's tools, checks the tools, and compares a tool with the version that the model saw.

import type { ShownTool, ToolChange } from "../types/tool-outcome.ts";
import { stableJson, toJson } from "../../shared/json.ts";
import type { Tool, ToolContext, ToolRegistry } from "../types/loop-options.ts";
import type { ToolDefinition } from "../types/tool.ts";
import { isRecord } from "../../shared/guards.ts";
import { invalidOption, LoopError } from "../../shared/errors/loop-error.ts";
import { dropPromise, memoize } from "../../shared/promises.ts";
import { quote } from "../../shared/texts.ts";
import { toJsonSchema, validateArgs } from "../../shared/argument-schema.ts";
import type { JsonSchema, Validation } from "../types/common.ts";
import { edges } from "../../shared/edges.ts";
import { assertTool, traits } from "./define-tool.ts";
import { createDeferred, failedResult } from "../../shared/to-outcome.ts";

export function findTool(registry: ToolRegistry, name: string): ToolDefinition | undefined {
  try {
    for (const tool of registry.definitions()) if (tool.name === name) return tool;
  } catch {
    // A registry that throws here counts as not having the tool.
  }
  return undefined;
}

export function byName(tools: readonly ToolDefinition[]): ReadonlyMap<string, ToolDefinition> {
  return new Map(tools.map((tool) => [tool.name, tool]));
}

/**
 * Marks the tools from `createHandoffs`, so that a run without their middleware can refuse them. The symbol is global, so that all copies
 * of the package share it.
 */
export const handoffKey: unique symbol = Symbol.for("turnwright.Handoff");

/** A registry that allows tools to be added and removed. A running loop picks up changes in its next iteration. */
export interface MutableToolRegistry extends ToolRegistry {
  /** Adds a tool. Throws LoopError "duplicate-tool", "invalid-tool" or "invalid-schema". */
  register(tool: Tool): void;
  /** Removes a tool. Returns false if there was no tool with that name. */
  unregister(name: string): boolean;
  validate(name: string, args: unknown): Validation | Promise<Validation>;
  validateResult(name: string, result: unknown): Validation | Promise<Validation>;
}

/** An array of tools, or a registry of tools. */
export type ToolSource = ToolRegistry | readonly Tool[];

interface Entry {
  readonly tool: Tool;
  readonly definition: ToolDefinition;
}

/**
 * Creates a registry of tools, in the order of the array. `validate` checks arguments only if the tool has a Standard Schema: a
 * plain JSON Schema is shown to the model, but not checked.
 *
 * `executeTool` returns what the tool returns, a value or a promise. For an unknown tool, it returns a failed result. For a
 * tool without `execute`, it returns the same value as `defer({ fromPage: true })`.
 *
 * Throws LoopError "invalid-option" if `tools` is not an array. Also throws the errors that `register` throws.
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
  // Returns the same array until a tool is added or removed, because the loop compares arrays by identity to detect changes.
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
      if (entry === undefined) return failedResult(`The tool ${quote(name)} is not available.`);
      const { tool } = entry;
      // Safe casts: the tool's schema has validated the arguments, and the options' type requires the context.
      return tool.execute === undefined ? createDeferred(true) : tool.execute(args as never, context as ToolContext<never>);
    },
    validate(name: string, args: unknown): Validation | Promise<Validation> {
      const entry = entries.get(name);
      if (entry === undefined) return { issues: [{ message: `the tool ${quote(name)} is not available` }] };
      return validateArgs(entry.tool.inputSchema, args);
    },
    validateResult(name: string, result: unknown): Validation | Promise<Validation> {
      const schema = entries.get(name)?.tool.outputSchema;
      return schema === undefined ? { value: result, unchecked: true } : validateArgs(schema, result);
    },
  };
}

export function isToolRegistry(value: unknown): value is ToolRegistry {
  return isRecord(value) && typeof value["definitions"] === "function" && typeof value["executeTool"] === "function";
}

export function toRegistry(source: ToolSource, option: string): ToolRegistry {
  const given: unknown = source;
  if (Array.isArray(given)) return createToolRegistry(given);
  if (!isToolRegistry(given)) throw invalidOption(option, "an array of tools or a registry", given);
  return given;
}

/** Returns a run's tools: those from the caller, and those that middleware adds. */
export function collectTools(
  source: ToolSource = [],
  hooks: readonly { readonly tools?: readonly Tool[] | undefined }[],
): ToolRegistry {
  const brought = hooks.flatMap(({ tools }) => tools ?? []);
  const given = "definitions" in source ? source : createToolRegistry(source);
  return given === source || brought.length > 0 ? readRegistry(given, brought) : given;
}

/**
 * Checks the tools that the caller's registry returns, and adds the tools of middleware. Its `definitions` method throws LoopError
 * "invalid-option", "duplicate-tool", "invalid-tool" or "invalid-schema".
 */
function readRegistry(given: ToolRegistry, brought: readonly Tool[]): ToolRegistry {
  const own = createToolRegistry(brought);
  let names: ReadonlySet<string> = new Set();
  const ownerOf = (name: string): ToolRegistry => (names.has(name) ? own : given);
  let source: unknown;
  let definitions: readonly ToolDefinition[] = [];
  return {
    definitions(): readonly ToolDefinition[] {
      const now: unknown = given.definitions();
      // The registry returned the same array as before, so its tools have not changed.
      if (now === source) return definitions;
      if (!isTools(now)) {
        dropPromise(now);
        throw invalidOption("tools.definitions()", "an array of tools, not a promise", now);
      }
      // Adds only tools that the registry does not contain yet.
      const known = new Map(now.map((tool) => [tool.name, tool]));
      const added = own.definitions().filter((tool) => !isSameTool(tool, known.get(tool.name)));
      names = new Set(added.map(({ name }) => name));
      definitions = added.length === 0 ? now : [...now, ...added];
      checkDefinitions(definitions);
      source = now;
      return definitions;
    },
    executeTool: (name, args, context) => ownerOf(name).executeTool(name, args, context),
    validate: (name, args) => ownerOf(name).validate?.(name, args) ?? { value: args, unchecked: true },
    validateResult: (name, result) => ownerOf(name).validateResult?.(name, result) ?? { value: result, unchecked: true },
  };
}

function isTools(value: unknown): value is readonly ToolDefinition[] {
  return Array.isArray(value) && value.every((tool) => isRecord(tool) && typeof tool["name"] === "string");
}

function checkDefinitions(definitions: readonly ToolDefinition[]): void {
  const seen = new Set<string>();
  for (const definition of definitions) {
    const { name } = definition;
    if (seen.has(name)) throw new LoopError("duplicate-tool", { toolName: name });
    seen.add(name);
    edges.checkDefinition?.(definition);
  }
}

function toDefinition(tool: Tool): ToolDefinition {
  const { name, description, inputSchema, jsonSchema = inputSchema } = tool;
  // Reads each trait by name, because the fields of a class instance may be getters, which a spread would not copy.
  const own: { [trait: string]: unknown } = {};
  for (const trait of Object.keys(traits)) {
    const value: unknown = Reflect.get(tool, trait);
    if (value !== undefined) own[trait] = value;
  }
  // Without `execute`, a call has no effect, so it may safely run again after a crash.
  const replay = tool.execute === undefined ? ({ replay: "safe" } as const) : {};
  // Freezes the definition, because hooks and providers get this object.
  return Object.freeze({ name, description, inputSchema: toJsonSchema(jsonSchema, name), ...own, ...replay });
}

/** Returns the parts of a tool that journals record. Cached, because several runs use the same definitions. */
export const toShown: (definition: ToolDefinition) => ShownTool = /* @__PURE__ */ memoize(
  ({ description, inputSchema, origin, needsApproval = false, idempotent, polls, requiresFollowUp }) => ({
    description,
    inputSchema: toJson(inputSchema) as JsonSchema,
    ...(origin === undefined ? {} : { origin }),
    ...(needsApproval === false ? {} : { needsApproval: needsApproval === true ? true : "some" }),
    ...(idempotent === true ? { idempotent } : {}),
    ...(polls === true ? { polls } : {}),
    ...(requiresFollowUp === undefined ? {} : { requiresFollowUp }),
  }),
);

/**
 * Returns the text used to compare tools. Leaves out `polls` and `requiresFollowUp`. Only the loop reads them, so an approved tool counts
 * as unchanged when they change.
 */
const textOf = /* @__PURE__ */ memoize((definition: ToolDefinition) => {
  const { polls: _, requiresFollowUp: __, ...shown } = toShown(definition);
  return stableJson(shown);
});

/** True if both tools have the same content. A registry may create new objects each time, so identity does not count. */
export function isSameTool(one: ToolDefinition, other: ToolDefinition | undefined): boolean {
  return one === other || (other !== undefined && textOf(one) === textOf(other));
}

/** True if arguments that fit the recorded schema may be invalid now, or may mean something else. */
export function isBreaking({ kind }: Pick<ToolChange, "kind">): boolean {
  return kind !== "description-changed" && kind !== "default-changed" && kind !== "trait-changed";
}

export function findToolChanges(toolName: string, was: ShownTool, now: ShownTool | undefined): readonly ToolChange[] {
  if (now === undefined) return [{ toolName, kind: "removed" }];
  if (was === now || stableJson(was) === stableJson(now)) return [];
  const changes = edges.findToolChanges?.(was, now) ?? [{ kind: "constraint-changed" }];
  return changes.map((change) => ({ toolName, ...change }));
}
