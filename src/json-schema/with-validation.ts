// Validates the arguments of tools whose registry does not.

import {
  isStandardSchema,
  type JsonSchema,
  LoopError,
  type Tool,
  type ToolDefinition,
  type ToolRegistry,
  toRegistry,
  validateArgs,
  type Validation,
  whenReady,
} from "../core/entry-kit.ts";
import { compileForeignSchema, compileSchema } from "./compile-schema.ts";
import { toStandardSchema } from "./from-json-schema.ts";

/**
 * Wraps a registry, or tools, so that unvalidated arguments are validated with the JSON Schema that the model sees. This applies
 * to every tool of a registry without `validate`, and to values that `validate` returns as `unchecked`. `createToolRegistry` does
 * that for tools with plain JSON Schema. Validated arguments are not validated again. Each schema is compiled once.
 *
 * A pattern that cannot be run in linear time is rejected in a list of tools. In a registry, whose schemas may come from a
 * server, it is not checked.
 *
 * An invalid schema throws LoopError "invalid-schema": now, or from `definitions()` if it comes later, which ends a run as
 * "hook-failed". For a registry with `validate` it becomes an issue of the first unvalidated call, because only then the schema
 * is known to be needed. Throws LoopError "invalid-option" for anything that is neither tools nor a registry. See
 * `fromJsonSchema` for the rejected schemas.
 *
 * @example
 * await runToolLoop({ provider, tools: withValidation(remoteTools), messages });
 */
export function withValidation(tools: ToolRegistry | readonly Tool[]): ToolRegistry {
  const { registry, isUnchecked, compile } = toSource(tools);
  let seen: readonly ToolDefinition[] = [];
  let schemas: ReadonlyMap<string, JsonSchema> = new Map();
  const look = (): readonly ToolDefinition[] => {
    const definitions = registry.definitions();
    if (definitions === seen) return seen;
    for (const definition of definitions) if (isUnchecked(definition)) assertSchema(definition, compile);
    schemas = new Map(definitions.map(({ name, inputSchema }) => [name, inputSchema]));
    seen = definitions;
    return seen;
  };
  look();
  return {
    definitions: look,
    executeTool: (name, args, context) => registry.executeTool(name, args, context),
    ...(registry.validateResult !== undefined && { validateResult: registry.validateResult.bind(registry) }),
    agentOf: (name) => registry.agentOf?.(name),
    validate(name, args) {
      look();
      const own = registry.validate?.(name, args) ?? { value: args, unchecked: true };
      const checked = whenReady(own, (validation) => check(validation, schemas.get(name), compile));
      return "then" in checked ? Promise.resolve(checked) : checked;
    },
  };
}

interface Source {
  readonly registry: ToolRegistry;
  /** Returns true if the arguments of a tool are known to be unvalidated. */
  isUnchecked(definition: ToolDefinition): boolean;
  /** The schemas of a registry may come from a server; those in a list are the caller's. */
  readonly compile: typeof compileSchema;
}

function toSource(tools: ToolRegistry | readonly Tool[]): Source {
  const registry = toRegistry(tools, "withValidation");
  if (!Array.isArray(tools)) {
    return { registry, isUnchecked: () => registry.validate === undefined, compile: compileForeignSchema };
  }
  const list: readonly Tool[] = tools;
  const plain = new Set(list.filter(({ inputSchema }) => !isStandardSchema(inputSchema)).map(({ name }) => name));
  return { registry, isUnchecked: ({ name }) => plain.has(name), compile: compileSchema };
}

function assertSchema({ name, inputSchema }: ToolDefinition, compile: typeof compileSchema): void {
  const made = compile(inputSchema);
  if ("problem" in made) throw new LoopError("invalid-schema", { toolName: name, problem: made.problem });
}

/** Validates an unchecked value. It is returned unchanged and counts as checked. */
function check(
  validation: Validation,
  schema: JsonSchema | undefined,
  compile: typeof compileSchema,
): Validation | Promise<Validation> {
  if (!("value" in validation) || validation.unchecked !== true || schema === undefined) return validation;
  const made = compile(schema);
  if ("problem" in made) return { issues: [{ message: `could not be checked: the schema ${made.problem}` }] };
  return validateArgs(toStandardSchema(schema, made.judge), validation.value);
}
