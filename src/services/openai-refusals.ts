// Functions that detect requests refused by both Chat Completions and the Responses API. Each returns the service's message, or
// undefined for a valid request.

import type { WireRequest, WireTool } from "./rule.ts";
import { eachSchema } from "../shared/adapters/object-schema.ts";
import { firstOf, isObjectSchema, longString, patternsIn, recordAt, rootKeyword, when } from "./rule-checks.ts";

export function unknownParameter(name: string): string {
  return `Unknown parameter: '${name}'.`;
}

export function emptyList(path: string): string {
  return `Invalid '${path}': empty array. Expected an array with minimum length 1, but got an empty array instead.`;
}

export function refuseLength(path: string, length: number, most: number): string | undefined {
  return when(
    length > most,
    `Invalid '${path}': string too long. Expected a string with maximum length ${most}, but got a string with length ${length} instead.`,
  );
}

export function refuseCount(path: string, list: unknown, most: number): string | undefined {
  const count = Array.isArray(list) ? list.length : 0;
  return when(
    count > most,
    `Invalid '${path}': array too long. Expected an array with maximum length ${most}, but got an array with length ${count} instead.`,
  );
}

/**
 * Refuses tool names that do not consist of 1 to 64 letters, digits, underscores and hyphens. `rest` is the path of the name in a tool and
 * in a call.
 */
export function refuseNames({ tools, calls }: WireRequest, rest: string): string | undefined {
  const names = [
    ...tools.map(({ name, at }) => [name, `tools[${at}]${rest}`] as const),
    ...calls.map(({ name, path }) => [name, `${path}${rest}`] as const),
  ];
  return firstOf(names, ([name, path]) => {
    const pattern = "^[a-zA-Z0-9_-]+$";
    const said = `Invalid '${path}': string does not match pattern. Expected a string that matches the pattern '${pattern}'.`;
    return refuseLength(path, name.length, 64) ?? when(!new RegExp(pattern).test(name), said);
  });
}

/** Refuses a tool schema whose root is not an object, or is a union. */
export function refuseRoot({ name, schema }: WireTool): string | undefined {
  const isWrong = !isObjectSchema(schema) || rootKeyword(schema, "oneOf", "anyOf", "allOf", "enum", "not") !== undefined;
  return when(
    isWrong,
    `Invalid schema for function '${name}': schema must have type 'object' and not have 'oneOf'/'anyOf'/'allOf'/'enum'/'not' at the top level.`,
  );
}

/** Refuses lookaround, and patterns that Python does not support, such as JavaScript's named groups. */
export function refusePatterns({ name, schema }: WireTool): string | undefined {
  return firstOf(patternsIn(schema), (pattern) =>
    when(/\\[pPzku]\{|\(\?<?[=!]|\(\?<\w/.test(pattern), `Invalid schema for function '${name}': '${pattern}' is not a 'regex'.`),
  );
}

/** Refuses a strict tool schema unless every object in it forbids additional properties and requires all of its properties. */
export function refuseStrict({ name, schema, strict }: WireTool): string | undefined {
  return firstOf(strict ? eachSchema(schema) : [], ([node]) => {
    const { type, additionalProperties, properties, required } = recordAt(node);
    if (type !== "object") return undefined;
    const begin = `Invalid schema for function '${name}': In context=(), `;
    if (additionalProperties !== false) return `${begin}'additionalProperties' is required to be supplied and to be false.`;
    const names: readonly unknown[] = Array.isArray(required) ? required : [];
    return when(
      Object.keys(recordAt(properties)).some((property) => !names.includes(property)),
      `${begin}'required' is required to be supplied and to be an array including every key in properties.`,
    );
  });
}

/** Refuses strings of more than 10,485,760 characters. */
export function refuseLongString({ body, text }: WireRequest): string | undefined {
  const most = 10_485_760;
  const found = text.length > most ? longString(body, most) : undefined;
  return found && refuseLength(...found, most);
}
