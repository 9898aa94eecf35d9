import type { Schema } from "@cfworker/json-schema";
import { isRecord } from "../core/kit.ts";
import type { UnknownRecord } from "../shared/guards.ts";
import {
  blame,
  type Check,
  fail,
  findAt,
  findHere,
  type Keyword,
  pass,
  spendEntries,
  takeOver,
  toEntries,
  toLimit,
  toList,
  type Visit,
} from "./visit.ts";
import { matches } from "./check-single-value.ts";

export const objectKeywords: readonly Keyword[] = [
  { name: "required", on: "object", make: checkRequired },
  {
    name: "minProperties",
    on: "object",
    make: (argument) => {
      const limit = toLimit(argument);
      return (visit) => {
        if (keysOf(visit).length < limit) fail(visit, `The object must have at least ${limit} properties`);
      };
    },
  },
  {
    name: "maxProperties",
    on: "object",
    make: (argument) => {
      const limit = toLimit(argument);
      return (visit) => {
        if (keysOf(visit).length > limit) fail(visit, `The object must have at most ${limit} properties`);
      };
    },
  },
  {
    name: "propertyNames",
    on: "object",
    make: (schema) => (visit) => {
      for (const key of keysOf(visit)) {
        const { faults } = visit.ports.find(schema, key, { key, up: visit.path });
        if (faults.length === 0) continue;
        fail(visit, `The property name "${key}" does not match the schema in "propertyNames"`);
        pass(visit, faults);
      }
    },
  },
  { name: "dependentRequired", on: "object", make: (argument) => checkDependencies(toEntries(argument, "dependentRequired")) },
  { name: "dependentSchemas", on: "object", make: (argument) => checkDependencies(toEntries(argument, "dependentSchemas")) },
  { name: "dependencies", on: "object", make: (argument) => checkDependencies(toEntries(argument, "dependencies")) },
  { name: "properties", on: "object", make: checkProperties },
  { name: "patternProperties", on: "object", make: checkPatternProperties },
  { name: "additionalProperties", on: "object", make: checkAdditionalProperties },
  { name: "unevaluatedProperties", on: "object", make: checkUnevaluatedProperties },
];

function keysOf(visit: Visit): readonly string[] {
  const keys = visit.ports.keysOf(toRecord(visit));
  spendEntries(visit, keys.length);
  return keys;
}

function toRecord({ value }: Visit): UnknownRecord {
  return isRecord(value) ? value : {};
}

function checkRequired(argument: unknown): Check {
  const keys = toList(argument, "required").map(String);
  return (visit) => {
    const value = toRecord(visit);
    spendEntries(visit, keys.length);
    for (const key of keys) if (!Object.hasOwn(value, key)) fail(visit, `The required property "${key}" is missing`);
  };
}

function checkDependencies(rules: readonly (readonly [key: string, rule: unknown])[]): Check {
  return (visit) => {
    const value = toRecord(visit);
    spendEntries(visit, rules.length);
    for (const [key, rule] of rules) {
      if (!Object.hasOwn(value, key)) continue;
      if (Array.isArray(rule)) {
        spendEntries(visit, rule.length);
        for (const other of rule.map(String)) {
          if (!Object.hasOwn(value, other))
            fail(visit, `An object with the property "${key}" must also have the property "${other}"`);
        }
      } else {
        const found = findHere(visit, rule);
        takeOver(visit, found);
        blame(visit, `The property "${key}" is not allowed in this object`, found.faults);
      }
    }
  };
}

function checkProperties(argument: unknown): Check {
  const rules = toEntries(argument, "properties");
  return (visit) => {
    const value = toRecord(visit);
    spendEntries(visit, rules.length);
    for (const [key, schema] of rules) {
      if (!Object.hasOwn(value, key)) continue;
      const { faults } = findAt(visit, schema, [key, value[key]]);
      blame(visit, `The property "${key}" is not allowed`, faults);
    }
  };
}

function checkPatternProperties(argument: unknown): Check {
  const rules = toEntries(argument, "patternProperties");
  return (visit) => {
    const value = toRecord(visit);
    for (const [expression, schema] of rules) {
      if (visit.ports.patternOf(expression) === undefined) continue;
      for (const key of keysOf(visit)) {
        if (!matches(visit, expression, key)) continue;
        const { faults } = findAt(visit, schema, [key, value[key]]);
        blame(visit, `The property "${key}" is not allowed because its name matches the pattern "${expression}"`, faults);
      }
    }
  };
}

function checkAdditionalProperties(schema: unknown, { properties, patternProperties }: Schema): Check {
  const expressions = isRecord(patternProperties) ? Object.keys(patternProperties) : [];
  const named: object = isRecord(properties) ? properties : {};
  return (visit) => {
    const value = toRecord(visit);
    const isNamed = (key: string): boolean =>
      Object.hasOwn(named, key) ||
      expressions.some((expression) => visit.ports.patternOf(expression) !== undefined && matches(visit, expression, key));
    for (const key of keysOf(visit)) {
      if (isNamed(key)) continue;
      const { faults } = findAt(visit, schema, [key, value[key]]);
      blame(visit, `The property "${key}" is unknown, and additional properties are not allowed`, faults);
    }
  };
}

function checkUnevaluatedProperties(schema: unknown, { additionalProperties }: Schema): Check {
  return (visit) => {
    if (additionalProperties !== undefined) return;
    const value = toRecord(visit);
    for (const key of keysOf(visit)) {
      if (visit.evaluated.has(key)) continue;
      const { faults } = findAt(visit, schema, [key, value[key]]);
      blame(visit, `The property "${key}" is unknown, and unevaluated properties are not allowed`, faults);
    }
  };
}
