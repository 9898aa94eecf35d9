// What the validator found, as issues: where in the value, and only the findings that say something.

import type { OutputUnit } from "@cfworker/json-schema";
import type { Issue } from "../contract/schema.ts";
import { isRecord } from "../kit/is-record.ts";
import { patternFormat } from "./replace-patterns.ts";

const mostIssues = 20;

/** Keywords that only say that something inside of them was found wrong, which follows. */
const wrappers: ReadonlySet<string> = new Set([
  "$ref",
  "allOf",
  "dependencies",
  "dependentSchemas",
  "if",
  "items",
  "prefixItems",
  "additionalItems",
  "unevaluatedItems",
  "properties",
  "patternProperties",
  "additionalProperties",
  "unevaluatedProperties",
]);

/** At most 20 issues, in the order in which they were found. */
export function toIssues(units: readonly OutputUnit[], value: unknown): readonly Issue[] {
  const issues: Issue[] = [];
  for (const [index, unit] of units.entries()) {
    if (issues.length === mostIssues) break;
    if (!saysNothing(unit, units[index + 1], units[index - 1])) issues.push(toIssue(unit, value));
  }
  return issues;
}

/** "false" is the schema of what must not be there, and whoever holds it has said what that is. */
function saysNothing(unit: OutputUnit, next: OutputUnit | undefined, previous: OutputUnit | undefined): boolean {
  if (unit.keyword === "false") return previous !== undefined && wrappers.has(previous.keyword);
  const holdsNext = next !== undefined && next.keyword !== "false" && next.instanceLocation.startsWith(unit.instanceLocation);
  return wrappers.has(unit.keyword) && holdsNext && !unit.error.includes("does not have");
}

function toIssue({ instanceLocation, keyword, error }: OutputUnit, value: unknown): Issue {
  const path = toPath(instanceLocation, value);
  const message =
    keyword === "format" && error.includes(patternFormat) ? "String does not match pattern" : error.replace(/\.$/, "");
  return path.length === 0 ? { message } : { message, path };
}

/** A JSON pointer in a URI fragment, such as "#/list/0/a~1b", as keys. */
function toPath(pointer: string, value: unknown): readonly (string | number)[] {
  let held = value;
  return pointer
    .split("/")
    .slice(1)
    .map((segment) => {
      const key = decodeURIComponent(segment).replaceAll("~1", "/").replaceAll("~0", "~");
      const isIndex = Array.isArray(held);
      held = isRecord(held) || Array.isArray(held) ? Reflect.get(held, key) : undefined;
      return isIndex ? Number(key) : key;
    });
}
