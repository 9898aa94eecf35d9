import { isStandardSchema, validateArgs } from "../shared/argument-schema.ts";
import { type JsonSchema, LoopError, type Tool, type ToolDefinition, type ToolRegistry } from "../core/index.ts";
import { toRegistry, type Validation } from "../core/kit.ts";
import { whenReady } from "../shared/promises.ts";
import { compileForeignSchema, compileSchema, toStandardSchema } from "./from-json-schema.ts";

/**
 * Wraps a registry or a list of tools, so that unvalidated arguments are validated with the JSON Schema that the model sees.
 * Arguments are unvalidated if the registry has no `validate`, or if `validate` returns them with `unchecked: true`. A registry
 * from `createToolRegistry` returns `unchecked: true` for tools with plain JSON Schema. Validated arguments are not validated
 * again. Each schema is compiled once.
 *
 * A pattern that cannot run in linear time is an error in a list of tools. In a registry, such a pattern is ignored, because the
 * schemas may come from a server.
 *
 * Throws LoopError "invalid-schema" for an invalid schema. The documentation of `fromJsonSchema` lists which schemas are invalid.
 * If an invalid schema appears later, `definitions()` throws the error, and the run ends as "hook-failed". In a registry with
 * `validate`, `definitions()` does not throw. Instead, the first call to a tool with an invalid schema fails with an issue.
 * Throws LoopError "invalid-option" if the argument is neither a list of tools nor a registry.
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
  isUnchecked(definition: ToolDefinition): boolean;
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

function check(
  validation: Validation,
  schema: JsonSchema | undefined,
  compile: typeof compileSchema,
): Validation | Promise<Validation> {
  if (!("value" in validation) || validation.unchecked !== true || schema === undefined) return validation;
  const made = compile(schema);
  if ("problem" in made) return { issues: [{ message: `The arguments could not be checked: the schema ${made.problem}` }] };
  return validateArgs(toStandardSchema(schema, made.judge), validation.value);
}
