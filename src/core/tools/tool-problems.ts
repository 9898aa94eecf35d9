// Explains what is wrong with a tool. These functions are optional: the loop calls them only if the bundle includes them.

import { describeRule, isFunction, isText, isWithin, timeLimit } from "../../shared/errors/check-fields.ts";
import { adviseTool, replacementOf } from "../errors/foreign-words.ts";
import type { DeferralCause } from "../../shared/edges.ts";
import { LoopError } from "../../shared/errors/loop-error.ts";
import type { Tool } from "../types/loop-options.ts";
import type { ToolDefinition, ToolTraits } from "../types/tool.ts";
import { isLiteral, isRecord, type UnknownRecord } from "../../shared/guards.ts";
import { nearestName } from "../../shared/nearest-name.ts";
import { describeValue, quote } from "../../shared/texts.ts";
import { isStandardSchema } from "../../shared/argument-schema.ts";
import { refuseTool } from "./define-tool.ts";
import { explainSchema, explainToolSchema } from "./schema-problems.ts";

type Fits = (value: unknown) => boolean;

const isFlag: Fits = (value) => typeof value === "boolean";
const isTimeout: Fits = (value) => isWithin(value, timeLimit);

/** The check for each trait. An absent trait is always valid. */
export const traitChecks: { readonly [Trait in keyof ToolTraits]-?: Fits } = {
  sequential: isFlag,
  timeoutMs: isTimeout,
  idleTimeoutMs: isTimeout,
  idempotent: isFlag,
  retry: (value) =>
    isRecord(value) && isWithin(value["maxAttempts"], { min: 2, infinite: false }) && Object.keys(value).length === 1,
  polls: isFlag,
  requiresFollowUp: isFlag,
  eager: isFlag,
  durable: isFlag,
  needsApproval: (value) => isFlag(value) || isFunction(value),
  replay: (value) => value === "safe" || value === "never",
  origin: isText,
  deferred: isFlag,
  findsTools: isFlag,
  triggers: (value) => [value].flat().every(isText),
  releasesResults: isFlag,
};

const requiredChecks: { readonly [Field in "name" | "description" | "inputSchema"]: Fits } = {
  name: (value) => typeof value === "string" && /^[\w-]{1,64}$/.test(value),
  description: isText,
  inputSchema: (value) => isRecord(value) || isFunction(value),
};

const optionalChecks: { readonly [Field in Exclude<keyof Tool, keyof typeof requiredChecks>]-?: Fits } = {
  jsonSchema: isRecord,
  execute: isFunction,
  outputSchema: isStandardSchema,
  ...traitChecks,
};

const time = /* @__PURE__ */ describeRule(timeLimit);
const flag = "true or false";

const expected: { readonly [Field in keyof Tool]-?: string } = {
  name: 'a string of 1 to 64 letters, digits, "_" or "-"',
  description: "a string",
  inputSchema: 'a Standard Schema or a JSON Schema, such as z.object({}) or { type: "object" }',
  jsonSchema: "a JSON Schema",
  execute: "a function",
  outputSchema: 'a Standard Schema (fromJsonSchema from "turnwright/json-schema" creates one)',
  sequential: flag,
  timeoutMs: time,
  idleTimeoutMs: time,
  idempotent: flag,
  retry: "{ maxAttempts } with a whole number of at least 2",
  polls: flag,
  requiresFollowUp: flag,
  eager: flag,
  durable: flag,
  needsApproval: "true, false or a function",
  replay: '"safe" or "never"',
  origin: "a string",
  deferred: flag,
  findsTools: flag,
  triggers: "a string or an array of strings",
  releasesResults: flag,
};

const fieldNames = /* @__PURE__ */ Object.keys(expected) as readonly (keyof Tool)[];

/** Tools that have already been checked, so that `defineTool` and each run's registry do not check the same tool twice. */
const checked = new WeakSet<object>();

/** Throws LoopError "invalid-tool" if the tool has the wrong shape, and "invalid-schema" if its schema is not JSON. */
export function checkTool(value: unknown): void {
  if (isRecord(value) && checked.has(value)) return;
  if (!isRecord(value)) throw refuseTool("", `is ${describeValue(value)}, but must be an object`);
  const { name, inputSchema, jsonSchema } = value;
  const problem = findShapeProblem(value);
  const advice = problem === undefined ? undefined : adviseTool(value);
  if (problem !== undefined) throw refuseTool(name, advice === undefined ? problem : `${problem}. ${advice}`);
  for (const schema of [inputSchema, jsonSchema])
    if (isRecord(schema) && isLiteral(schema) && !isStandardSchema(schema)) refuseSchema(String(name), explainSchema(schema));
  checked.add(value);
}

function refuseSchema(toolName: string, problem: string): void {
  if (problem !== "") throw new LoopError("invalid-schema", { toolName, problem });
}

const checkedTraits = ["timeoutMs", "idleTimeoutMs"] as const;

/** Throws LoopError "invalid-tool" if a time limit is wrong, and "invalid-schema" if the schema is not JSON. */
export function checkDefinition(definition: ToolDefinition): void {
  const { name, inputSchema } = definition;
  for (const trait of checkedTraits) {
    const value: unknown = definition[trait];
    if (value !== undefined && !traitChecks[trait](value)) throw refuseTool(name, describeField(trait, value));
  }
  refuseSchema(name, isRecord(inputSchema) ? explainToolSchema(inputSchema) : `is not JSON: ${describeValue(inputSchema)}`);
}

function findShapeProblem(fields: UnknownRecord): string | undefined {
  for (const field of fieldNames) {
    const problem = findFieldProblem(fields, field);
    if (problem !== undefined) return problem;
  }
  if (fields["retry"] !== undefined && fields["idempotent"] !== true) return 'needs "idempotent: true" to have "retry"';
  const veto = fields["eager"] === true ? findVeto(fields) : undefined;
  if (veto !== undefined) return veto;
  const unknown = isLiteral(fields) ? Object.keys(fields).find((key) => !Object.hasOwn(expected, key)) : undefined;
  return unknown === undefined ? undefined : `has an unknown field ${quote(unknown)}${didYouMean(unknown)}`;
}

/**
 * Describes the problem with a field. A missing `execute` is an error only if a function with a different name looks like a misnamed
 * `execute`. Otherwise, the tool's calls wait for results from outside the run.
 */
function findFieldProblem(fields: UnknownRecord, field: keyof Tool): string | undefined {
  const value = fields[field];
  if (value === undefined) {
    const word = field in requiredChecks || field === "execute" ? findWordFor(field, fields) : undefined;
    if (word !== undefined) return `${describeField(field, value)}. Rename ${quote(word)} to ${quote(field)}`;
    return field in requiredChecks ? describeField(field, value) : undefined;
  }
  return checkOf(field)?.(value) === false ? describeField(field, value) : undefined;
}

type Checks = { readonly [name: string]: ((given: unknown) => boolean) | undefined };

function checkOf(field: keyof Tool): Checks[string] {
  const [required, optional]: readonly [Checks, Checks] = [requiredChecks, optionalChecks];
  return required[field] ?? optional[field];
}

function describeField(field: keyof Tool, value: unknown): string {
  return `has an invalid ${quote(field)}: it is ${describeValue(value)}, but must be ${expected[field]}`;
}

function findVeto({ execute, replay, sequential, needsApproval = false }: UnknownRecord): string | undefined {
  if (execute === undefined) return 'has "eager" without "execute". Add "execute", or remove "eager"';
  if (replay === "never") return excludes("replay: never");
  if (sequential === true) return excludes("sequential: true");
  return needsApproval === false ? undefined : excludes("needsApproval");
}

function excludes(trait: string): string {
  return `has both "eager" and "${trait}", which exclude each other. Remove one`;
}

function findWordFor(field: string, fields: UnknownRecord): string | undefined {
  return Object.keys(fields).find((word) => !Object.hasOwn(expected, word) && replacementOf(word, [field])?.nearest === field);
}

function didYouMean(field: string): string {
  const replacement = replacementOf(field, fieldNames);
  if (replacement?.instead !== undefined) return ` (write: ${replacement.instead})`;
  const nearest = replacement?.nearest ?? nearestName(field, fieldNames);
  return nearest === undefined ? "" : ` (did you mean ${quote(nearest)}?)`;
}

const deferrals: { readonly [Cause in DeferralCause]: readonly [because: string, remedy: string] } = {
  eager: [' because it has "eager"', 'Remove "eager" from the tool.'],
  nested: [" because it belongs to a nested run started by an ordinary tool", "Start that run with defineAgentTool."],
};

export function describeDeferral(cause: DeferralCause, toolName: string): string {
  const [because, remedy] = deferrals[cause];
  return `The tool ${quote(toolName)} cannot defer its result${because}. ${remedy}`;
}
