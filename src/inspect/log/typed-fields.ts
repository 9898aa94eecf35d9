// Checks the types of the fields that readers use, so that an edited log does not make them fail.

import { isRecord, type Json } from "../../core/entry-kit.ts";
import type { LogLine } from "./parse-line.ts";
import { isList } from "./shared-reader.ts";

type Check = (value: Json) => boolean;
type Checks = { readonly [field: string]: Check };

const text: Check = (value) => typeof value === "string";
const count: Check = (value) => typeof value === "number";
const listOfAll =
  (check: Check): Check =>
  (value) =>
    isList(value) && value.every(check);

const record =
  (required: Checks, optional: Checks = {}): Check =>
  (value) =>
    isRecord(value) &&
    Object.entries(required).every(([field, check]) => check(value[field] ?? null)) &&
    wrongField(value, optional) === undefined;

/** Returns the name of a field with a wrong type. Removes fields with the value null, as if they were missing. */
function wrongField(fields: { readonly [field: string]: unknown }, checks: Checks): string | undefined {
  return Object.keys(checks).find((field) => {
    if (fields[field] === null) Reflect.deleteProperty(fields, field);
    return fields[field] !== undefined && checks[field]?.(fields[field] as Json) === false;
  });
}

const error = record({ message: text }, { name: text, code: text });
const textPart = record({ text });
const media = record({ type: text, mediaType: text }, { name: text });
const call = record({ callId: text, name: text });
const result = record({ callId: text, name: text, outcome: text }, { content: listOfAll((value) => isUserPart(value)) });

function isUserPart(value: Json): boolean {
  return isRecord(value) && value["type"] === "text" ? textPart(value) : media(value);
}

function isAssistantPart(value: Json): boolean {
  if (!isRecord(value)) return false;
  return value["type"] === "tool-call" ? call(value) : textPart(value);
}

const messages: Checks = {
  user: record({ content: (value) => text(value) || listOfAll(isUserPart)(value) }),
  assistant: record({ content: listOfAll(isAssistantPart) }),
  tool: record({ results: listOfAll(result) }),
};

const roles: ReadonlySet<unknown> = new Set(Object.keys(messages));

function isMessage(value: Json): boolean {
  return isRecord(value) && roles.has(value["role"]) && messages[value["role"] as string]?.(value) === true;
}

const ending: Checks = { status: text, outcome: text, cause: text, provider: text, model: text, finish: text, error };

const lines: { readonly [type: string]: Checks | undefined } = {
  "run-start": {
    version: text,
    path: listOfAll(text),
    limits: isRecord,
    timeouts: isRecord,
    policies: listOfAll(text),
    hooks: listOfAll(text),
    session: isRecord,
  },
  request: {
    provider: text,
    model: text,
    system: text,
    output: isRecord,
    tools: listOfAll(record({ name: text }, { description: text })),
    settings: isRecord,
    replace: listOfAll((pair) => isList(pair) && isMessage(pair[1] ?? null)),
    add: listOfAll(isMessage),
  },
  "attempt-discarded": { error, text, reasoning: text },
  "first-token": { kind: text },
  output: {
    text,
    reasoning: text,
    details: text,
    calls: listOfAll(record({}, { problem: text })),
    providerMetadata: isList,
    finish: text,
    rawFinish: text,
    error,
  },
  "iteration-end": ending,
  "compaction-start": ending,
  "compaction-end": { ...ending, tokensBefore: count, tokensAfter: count },
  "tool-end": ending,
  "run-end": { ...ending, reason: record({ kind: text }, { error }) },
  "run-error": ending,
};

/** Throws a TypeError if a field of the line has a wrong type. Removes fields with the value null. */
export function checkTypes(line: LogLine): void {
  const checks = Object.hasOwn(lines, line.type) ? lines[line.type] : undefined;
  const wrong = checks && wrongField(line, checks);
  if (wrong !== undefined) throw new TypeError(`has no valid "${wrong}"`);
}
