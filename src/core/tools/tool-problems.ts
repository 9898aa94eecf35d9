// Explains what is wrong with a tool. These functions are optional: the loop calls them only if the bundle includes them.

import { is, isFunction, isText, isWithin, table, timeLimit, toCheck, type ValueRule } from "../../shared/errors/check-fields.ts";
import { adviseTool, replacementOf } from "../errors/foreign-words.ts";
import type { DeferralCause } from "../../shared/edges.ts";
import { LoopError } from "../../shared/errors/loop-error.ts";
import type { Tool } from "../types/loop-options.ts";
import type { ToolDefinition } from "../types/tool.ts";
import { isLiteral, isRecord, type UnknownRecord } from "../../shared/guards.ts";
import { nearestName } from "../../shared/nearest-name.ts";
import { describeValue, quote } from "../../shared/texts.ts";
import { isStandardSchema } from "../../shared/argument-schema.ts";
import { refuseTool } from "./define-tool.ts";
import { explainSchema, explainToolSchema } from "./schema-problems.ts";

/** The rule for each field of a tool. A field that is not `required` may be absent. */
const rules: { readonly [Field in keyof Tool]-?: ValueRule } = /* @__PURE__ */ table(() => ({
  name: ['a string of 1 to 64 letters, digits, "_" or "-"', (value) => isText(value) && /^[\w-]{1,64}$/.test(value)],
  description: is.text,
  inputSchema: [
    'a Standard Schema or a JSON Schema, such as z.object({}) or { type: "object" }',
    (value) => isRecord(value) || isFunction(value),
  ],
  jsonSchema: ["a JSON Schema", isRecord],
  execute: is.fn,
  outputSchema: ['a Standard Schema (fromJsonSchema from "turnwright/json-schema" creates one)', isStandardSchema],
  sequential: is.flag,
  timeoutMs: timeLimit,
  idleTimeoutMs: timeLimit,
  idempotent: is.flag,
  retry: [
    "{ maxAttempts } with a whole number of at least 2",
    (value) => isRecord(value) && isWithin(value["maxAttempts"], { min: 2, infinite: false }) && Object.keys(value).length === 1,
  ],
  polls: is.flag,
  requiresFollowUp: is.flag,
  eager: is.flag,
  durable: is.flag,
  needsApproval: ["true, false or a function", (value) => typeof value === "boolean" || isFunction(value)],
  replay: ["safe", "never"],
  origin: is.text,
  deferred: is.flag,
  findsTools: is.flag,
  triggers: ["a string or an array of strings", (value) => [value].flat().every(isText)],
  releasesResults: is.flag,
}));

const required: ReadonlySet<string> = new Set(["name", "description", "inputSchema"] satisfies (keyof Tool)[]);

const fieldNames = /* @__PURE__ */ Object.keys(rules) as readonly (keyof Tool)[];

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
    if (value !== undefined && !fits(trait, value)) throw refuseTool(name, describeField(trait, value));
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
  const unknown = isLiteral(fields) ? Object.keys(fields).find((key) => !Object.hasOwn(rules, key)) : undefined;
  return unknown === undefined ? undefined : `has an unknown field ${quote(unknown)}${didYouMean(unknown)}`;
}

/**
 * Describes the problem with a field. A missing `execute` is an error only if a function with a different name looks like a misnamed
 * `execute`. Otherwise, the tool's calls wait for results from outside the run.
 */
function findFieldProblem(fields: UnknownRecord, field: keyof Tool): string | undefined {
  const value = fields[field];
  if (value !== undefined) return fits(field, value) ? undefined : describeField(field, value);
  const word = required.has(field) || field === "execute" ? findWordFor(field, fields) : undefined;
  if (word !== undefined) return `${describeField(field, value)}. Rename ${quote(word)} to ${quote(field)}`;
  return required.has(field) ? describeField(field, value) : undefined;
}

function fits(field: keyof Tool, value: unknown): boolean {
  return toCheck(rules[field])[1](value);
}

function describeField(field: keyof Tool, value: unknown): string {
  return `has an invalid ${quote(field)}: it is ${describeValue(value)}, but must be ${toCheck(rules[field])[0]}`;
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
  return Object.keys(fields).find((word) => !Object.hasOwn(rules, word) && replacementOf(word, [field])?.nearest === field);
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
