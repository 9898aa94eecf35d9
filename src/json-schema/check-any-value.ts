import { isRecord, stableJson } from "../core/entry-kit.ts";
import {
  blame,
  type Check,
  fail,
  type Fault,
  type Finding,
  findHere,
  type Keyword,
  pass,
  takeOver,
  type Visit,
} from "./visit.ts";

/** Comparing this number of characters costs one unit of work. */
const comparedPerUnit = 4_096;

export const anyValueKeywords: readonly Keyword[] = [
  {
    name: "$ref",
    make: (_, part) => (visit) => {
      const found = findHere(visit, visit.ports.follow(part));
      takeOver(visit, found);
      blame(visit, "The value is not allowed by the schema", found.faults);
    },
  },
  { name: "type", make: checkType },
  { name: "const", make: (choice) => checkChoice([choice], () => `The value must be ${JSON.stringify(choice)}`) },
  {
    name: "enum",
    make: (choices) => checkChoice(toList(choices, "enum"), () => `The value must be one of ${JSON.stringify(choices)}`),
  },
  {
    name: "not",
    make: (schema) => (visit) => {
      if (findHere(visit, schema).faults.length === 0) fail(visit, 'The value must not match the schema in "not"');
    },
  },
  {
    name: "anyOf",
    make: (schemas) => (visit) => {
      const { findings, fitting } = findAll(visit, toList(schemas, "anyOf"));
      if (fitting > 0) return;
      fail(visit, 'The value must match at least one schema in "anyOf"');
      pass(visit, faultsOf(findings));
    },
  },
  {
    name: "allOf",
    make: (schemas) => (visit) => {
      const { findings } = findAll(visit, toList(schemas, "allOf"));
      blame(visit, "The value is not allowed by the schema", faultsOf(findings));
    },
  },
  {
    name: "oneOf",
    make: (schemas) => (visit) => {
      const { findings, fitting } = findAll(visit, toList(schemas, "oneOf"));
      if (fitting === 1) return;
      fail(visit, `The value must match exactly one schema in "oneOf", but matches ${fitting}`);
      pass(visit, faultsOf(findings));
    },
  },
  {
    name: "if",
    make: (condition, part) => (visit) => {
      const found = findHere(visit, condition);
      takeOver(visit, found);
      const branch = found.faults.length === 0 ? "then" : "else";
      const schema: unknown = part[branch];
      if (schema === undefined) return;
      const inside = findHere(visit, schema);
      takeOver(visit, inside);
      blame(visit, `The value is not allowed by the schema in "${branch}"`, inside.faults);
    },
  },
];

export function toList(argument: unknown, keyword: string): readonly unknown[] {
  if (Array.isArray(argument)) return argument;
  throw new TypeError(`"${keyword}" in the schema must be a list`);
}

export function toEntries(argument: unknown, keyword: string): readonly (readonly [string, unknown])[] {
  if (isRecord(argument)) return Object.entries(argument);
  throw new TypeError(`"${keyword}" in the schema must be an object`);
}

function findAll(visit: Visit, schemas: readonly unknown[]): { findings: readonly Finding[]; fitting: number } {
  const findings = schemas.map((schema) => findHere(visit, schema));
  for (const found of findings) takeOver(visit, found);
  return { findings, fitting: findings.filter(({ faults }) => faults.length === 0).length };
}

function faultsOf(findings: readonly Finding[]): readonly Fault[] {
  return findings.flatMap(({ faults }) => faults);
}

function checkType(expected: unknown): Check {
  const names: readonly unknown[] = Array.isArray(expected) ? expected : [expected];
  return (visit) => {
    const { type, value } = visit;
    if (names.includes(type) || (type === "number" && names.includes("integer") && Number.isInteger(value))) return;
    fail(visit, `The type "${type}" is not allowed. Expected type: "${names.join('" or "')}"`);
  };
}

function checkChoice(choices: readonly unknown[], word: () => string): Check {
  const plain = new Set(choices.filter((choice) => !isHolder(choice)));
  const written = new Set(choices.filter(isHolder).map(stableJson));
  let message: string | undefined;
  return (visit) => {
    const { value, ports } = visit;
    if (typeof value === "string") ports.spend(value.length / comparedPerUnit);
    const fits = isHolder(value) ? written.size > 0 && written.has(ports.textOf(value)) : plain.has(value);
    if (fits) return;
    message ??= word();
    fail(visit, message);
  };
}

export function isHolder(value: unknown): value is object {
  return typeof value === "object" && value !== null;
}
