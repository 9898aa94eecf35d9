// Describes how a tool has changed since a model or a person saw it.

import type { ShownTool } from "../types/tool-outcome.ts";
import type { SchemaChange } from "../../shared/edges.ts";
import { isRecord, type UnknownRecord } from "../../shared/guards.ts";
import { stableJson } from "../../shared/json.ts";
import { recordOf } from "../../shared/plain-error.ts";
import { cutText } from "../../shared/texts.ts";
import { isBreaking } from "./registry.ts";

type Find = (was: UnknownRecord, now: UnknownRecord, field: string) => Iterable<SchemaChange>;

/** Keywords that `findWords` skips, because another function compares them or because they do not limit a value. */
const known = new Set([
  ...[
    "type",
    "required",
    "properties",
    "items",
    "additionalProperties",
    "anyOf",
    "oneOf",
    "enum",
    "const",
    "$defs",
    "definitions",
  ],
  ...["title", "description", "default", "examples", "deprecated", "readOnly", "writeOnly", "$comment", "$schema", "$id"],
]);

/**
 * Keywords that set a lower bound. A schema accepts more values if a lower bound falls or an upper bound rises, so `findWords` does not
 * report such changes.
 */
const lowerBounds = new Set(["minimum", "exclusiveMinimum", "minLength", "minItems", "minProperties"]);
const upperBounds = new Set(["maximum", "exclusiveMaximum", "maxLength", "maxItems", "maxProperties"]);

const maxWordLength = 80;

/** Returns the changes to a tool that matter for calls that were recorded or shown to a person. */
export function listToolChanges(was: ShownTool, now: ShownTool): readonly SchemaChange[] {
  const changes: SchemaChange[] = was.origin === now.origin ? [] : [{ kind: "source-changed", was: was.origin, now: now.origin }];
  changes.push(...findSchemaChanges(was.inputSchema, now.inputSchema));
  if (was.description !== now.description) changes.push({ kind: "description-changed" });
  // Reports only a stricter `needsApproval`, because a recorded approval is enough for a less strict tool.
  if (caution(now) > caution(was)) changes.push({ kind: "trait-changed", field: "needsApproval" });
  if (was.idempotent === true && now.idempotent !== true) changes.push({ kind: "trait-changed", field: "idempotent" });
  return changes;
}

function caution({ needsApproval }: ShownTool): number {
  if (needsApproval === undefined) return 0;
  return needsApproval === true ? 2 : 1;
}

/** Yields values that the current schema no longer accepts, and descriptions that differ. */
function* findSchemaChanges(was: unknown, now: unknown, field = ""): Generator<SchemaChange> {
  if (now === true || now === undefined) return;
  if (!isRecord(was) || !isRecord(now)) {
    if (was !== now) yield constraint(field, { was, now });
    return;
  }
  for (const find of finders) yield* find(was, now, field);
}

const finders: readonly Find[] = [
  findType,
  findRequired,
  findProperties,
  findItems,
  findBranches,
  findValues,
  findWords,
  findTexts,
];

function* findType(was: UnknownRecord, now: UnknownRecord, field: string): Generator<SchemaChange> {
  const before = typesOf(was);
  const after = typesOf(now);
  if (after === undefined) return;
  const accepts = (type: string): boolean => after.includes(type) || (type === "integer" && after.includes("number"));
  if (before?.every(accepts) === true) return;
  yield { kind: "type-changed", ...at(field), was: before?.join(" or ") ?? "any", now: after.join(" or ") };
}

function typesOf({ type }: UnknownRecord): readonly string[] | undefined {
  if (typeof type === "string") return [type];
  return Array.isArray(type) ? type.map(String) : undefined;
}

function* findRequired(was: UnknownRecord, now: UnknownRecord, field: string): Generator<SchemaChange> {
  const before = new Set(namesIn(was["required"]));
  for (const name of namesIn(now["required"]))
    if (!before.has(name)) yield { kind: "required-field-added", field: within(field, name) };
}

function namesIn(value: unknown): readonly string[] {
  return Array.isArray(value) ? value.filter((name) => typeof name === "string") : [];
}

function* findProperties(was: UnknownRecord, now: UnknownRecord, field: string): Generator<SchemaChange> {
  const after = recordOf(now["properties"]);
  for (const [name, schema] of Object.entries(recordOf(was["properties"]))) {
    const place = within(field, name);
    if (Object.hasOwn(after, name)) yield* findSchemaChanges(schema, after[name], place);
    else yield { kind: "field-removed", field: place };
  }
  for (const word of ["$defs", "definitions"]) {
    const there = recordOf(now[word]);
    for (const [name, schema] of Object.entries(recordOf(was[word])))
      if (Object.hasOwn(there, name)) yield* findSchemaChanges(schema, there[name], within(field, `${word}.${name}`));
  }
}

function* findItems(was: UnknownRecord, now: UnknownRecord, field: string): Generator<SchemaChange> {
  if (now["items"] !== undefined) yield* findSchemaChanges(was["items"] ?? true, now["items"], `${field}[]`);
  const more = now["additionalProperties"];
  if (more !== undefined) yield* findSchemaChanges(was["additionalProperties"] ?? true, more, within(field, "*"));
}

/**
 * Compares branches. Each recorded branch of `anyOf` or `oneOf` must still exist, or the current branch at the same position must accept at
 * least the same values. Comparing each recorded branch with each current branch would take too long.
 */
function* findBranches(was: UnknownRecord, now: UnknownRecord, field: string): Generator<SchemaChange> {
  for (const word of ["anyOf", "oneOf"]) {
    const after = now[word];
    if (!Array.isArray(after)) continue;
    const before: readonly unknown[] = Array.isArray(was[word]) ? was[word] : [was];
    const broken = before.filter((branch, index) => [...findSchemaChanges(branch, after[index] ?? false)].some(isBreaking));
    const texts = new Set(broken.length === 0 ? [] : after.map((branch) => stableJson(branch)));
    if (!broken.every((branch) => texts.has(stableJson(branch)))) yield constraint(field, { was: was[word], now: after, word });
  }
}

function* findValues(was: UnknownRecord, now: UnknownRecord, field: string): Generator<SchemaChange> {
  const after = valuesOf(now);
  if (after === undefined) return;
  const texts = new Set(after.map((value) => stableJson(value)));
  const before = valuesOf(was);
  if (before?.every((value) => texts.has(stableJson(value))) === true) return;
  yield constraint(field, { was: before, now: after, word: "enum" });
}

function valuesOf(schema: UnknownRecord): readonly unknown[] | undefined {
  const values: unknown = schema["enum"];
  if (Array.isArray(values)) return values as readonly unknown[];
  return Object.hasOwn(schema, "const") ? [schema["const"]] : undefined;
}

function* findWords(was: UnknownRecord, now: UnknownRecord, field: string): Generator<SchemaChange> {
  for (const [word, after] of Object.entries(now)) {
    if (known.has(word) || word.startsWith("x-") || acceptsMore(word, was[word], after)) continue;
    yield constraint(field, { was: was[word], now: after, word });
  }
}

function acceptsMore(word: string, before: unknown, after: unknown): boolean {
  if (before === undefined || after === undefined) return after === undefined;
  if (typeof before === "number" && typeof after === "number") {
    if (lowerBounds.has(word)) return after <= before;
    if (upperBounds.has(word)) return after >= before;
  }
  return stableJson(before) === stableJson(after);
}

function* findTexts(was: UnknownRecord, now: UnknownRecord, field: string): Generator<SchemaChange> {
  for (const [word, kind] of [
    ["title", "description-changed"],
    ["description", "description-changed"],
    ["default", "default-changed"],
  ] as const) {
    const before = wordOf(was[word]);
    const after = wordOf(now[word]);
    if (before !== after) yield { kind, ...at(field), was: cut(before), now: cut(after) };
  }
}

function constraint(field: string, { was, now, word = "" }: { was: unknown; now: unknown; word?: string }): SchemaChange {
  const say = (value: unknown): string | undefined => (value === undefined ? undefined : cut(`${word} ${wordOf(value)}`.trim()));
  return { kind: "constraint-changed", ...at(field), was: say(was), now: say(now) };
}

function wordOf(value: unknown): string | undefined {
  if (value === undefined || typeof value === "string") return value;
  return stableJson(value);
}

function cut(text: string | undefined): string | undefined {
  return text === undefined ? undefined : cutText(text, maxWordLength);
}

function at(field: string): Pick<SchemaChange, "field"> {
  return field === "" ? {} : { field };
}

function within(field: string, name: string): string {
  return field === "" ? name : `${field}.${name}`;
}
