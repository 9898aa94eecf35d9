import type { JsonSchema } from "../types/common.ts";
import { isRecord, type UnknownRecord } from "../utils/guards.ts";
import { listOf } from "../utils/plain-error.ts";
import { parseJson } from "../utils/json.ts";
import { toObjectSchema } from "./object-schema.ts";
import { idRules, toWireId } from "./wire-ids.ts";

/** Names and the names that replace them. */
export type Names = ReadonlyMap<string, string>;

/** Returns the parameters of a tool whose names are not accepted, with the names to send instead. */
export function findParameters(schema: JsonSchema, accepted: RegExp | undefined): Names {
  if (accepted === undefined) return new Map();
  const refused = Object.keys(propertiesOf(toObjectSchema(schema))).filter((name) => !accepted.test(name));
  return new Map(refused.map((name) => [name, toWireId(name, idRules.anthropic)]));
}

/**
 * Renames the properties at the root of a schema. Services check only these names: "The check is top-level only"
 * (github.com/aws-solutions-library-samples/accelerated-intelligent-document-processing-on-aws/issues/709).
 */
export function renameParameters(schema: JsonSchema, names: Names): JsonSchema {
  const root = toObjectSchema(schema);
  const properties = Object.entries(propertiesOf(root)).map(([name, property]) => {
    const wireName = names.get(name);
    // Without a description, the model would not know what the name stands for.
    return wireName === undefined
      ? [name, property]
      : [wireName, isRecord(property) ? { description: name, ...property } : property];
  });
  const required = listOf(root["required"]).map((name) => names.get(String(name)) ?? name);
  const made = { ...root, properties: Object.fromEntries(properties), ...(required.length === 0 ? {} : { required }) };
  return followReferences(made, names);
}

function propertiesOf({ properties }: JsonSchema): UnknownRecord {
  return isRecord(properties) ? properties : {};
}

/** Schemas that zod-to-json-schema makes refer to properties, as in "#/properties/$filter". */
function followReferences(schema: object, names: Names): JsonSchema {
  const moved = new Map(Array.from(names, ([name, wireName]) => [toStep(name), wireName]));
  return JSON.parse(JSON.stringify(schema), (keyword, value: unknown) => {
    if (keyword !== "$ref" || typeof value !== "string") return value;
    return value.replace(/^(#\/properties\/)([^/]*)/, (_, start: string, step: string) => start + (moved.get(step) ?? step));
  }) as JsonSchema;
}

function toStep(name: string): string {
  return name.replaceAll("~", "~0").replaceAll("/", "~1");
}

/** Renames the keys of a call's arguments. Keys inside the values stay. */
export function renameKeys<Value>(args: Value, names: Names): Value {
  if (!isRecord(args) || !Object.keys(args).some((key) => names.has(key))) return args;
  return Object.fromEntries(Object.entries(args).map(([key, value]) => [names.get(key) ?? key, value])) as Value;
}

/**
 * Creates a function that renames keys in JSON text that arrives in pieces. It holds back a key until the key is complete. Keys inside
 * the values stay.
 */
export function createKeyRenamer(names: Names): (piece: string) => string {
  let depth = 0;
  let mayBeKey = false;
  let isEscaped = false;
  /** The string that is being read: a key, a value, or none. */
  let kind: "key" | "value" | undefined;
  let key = "";
  const readString = (character: string): string => {
    const isKey = kind === "key";
    if (character === '"' && !isEscaped) kind = undefined;
    isEscaped = character === "\\" && !isEscaped;
    if (!isKey) return character;
    key += character;
    return kind === undefined ? renameText(key, names) : "";
  };
  const readOther = (character: string): string => {
    if (character === '"') {
      kind = mayBeKey && depth === 1 ? "key" : "value";
      mayBeKey = false;
      key = character;
      return kind === "key" ? "" : character;
    }
    if (character === "{" || character === "[") depth += 1;
    if (character === "}" || character === "]") depth -= 1;
    if (character === "{" || character === ",") mayBeKey = true;
    return character;
  };
  return (piece) => {
    let text = "";
    for (const character of piece) text += kind === undefined ? readOther(character) : readString(character);
    return text;
  };
}

function renameText(key: string, names: Names): string {
  const name = names.get(String(parseJson(key)));
  return name === undefined ? key : JSON.stringify(name);
}
