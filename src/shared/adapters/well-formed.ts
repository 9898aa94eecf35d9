import type { ModelRequest } from "../../core/types/provider.ts";
import { isLiteral, setField } from "../guards.ts";
import { memoize } from "../promises.ts";

/**
 * Replaces half surrogate pairs with U+FFFD, and removes U+0000, in all strings of a request. Services refuse half pairs: "The request body
 * is not valid JSON: no low surrogate in string" (github.com/anthropics/claude-code/issues/60394). U+0000 makes llama-server's models stop
 * mid-answer (github.com/aebrer/dreb/issues/352).
 *
 * A message, tool or request without such strings stays the same object, because adapters cache what they build from these objects.
 */
export function toWellFormedRequest(request: ModelRequest): ModelRequest {
  const { messages, tools, output, system, settings } = request;
  const made = {
    messages: mapItems(messages, cleanItem),
    tools: mapItems(tools, cleanItem),
    output: output && cleanItem(output),
    system: toWellFormed(system),
    settings: toWellFormed(settings),
  };
  const isSame =
    made.messages === messages &&
    made.tools === tools &&
    made.output === output &&
    made.system === system &&
    made.settings === settings;
  return isSame ? request : { ...request, ...made };
}

/** Cleans each message and each tool once, because a run sends them again in every iteration. */
const cleanItem = memoize(toWellFormed) as <Item extends object>(item: Item) => Item;

/** Changes the items of a list. Returns the same list if no item changes, because adapters cache what they build from messages. */
export function mapItems<Item>(items: readonly Item[], change: (item: Item) => Item): readonly Item[] {
  return items.some((item) => change(item) !== item) ? items.map((item) => change(item)) : items;
}

/**
 * Makes all strings and keys of a value well-formed. Returns the same value if they already are. Does not change instances of classes, such
 * as URLs.
 */
export function toWellFormed<Value>(value: Value): Value {
  return isWellFormed(value) ? value : (clean(value) as Value);
}

/** True if all strings are well-formed, as they are in almost all values. This separate check allocates nothing. */
function isWellFormed(value: unknown): boolean {
  if (typeof value === "string") return isCleanText(value);
  if (typeof value !== "object" || value === null) return true;
  if (Array.isArray(value)) return value.every(isWellFormed);
  if (!isLiteral(value)) return true;
  for (const key in value) if (!isCleanText(key) || !isWellFormed(Reflect.get(value, key))) return false;
  return true;
}

function isCleanText(text: string): boolean {
  return text.isWellFormed() && !text.includes("\0");
}

function clean(value: unknown): unknown {
  if (typeof value === "string") return cleanText(value);
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map(clean);
  return isLiteral(value) ? cleanFields(value) : value;
}

function cleanText(text: string): string {
  return text.replaceAll("\0", "").toWellFormed();
}

function cleanFields(fields: object): object {
  const copy: { [field: string]: unknown } = {};
  for (const [key, value] of Object.entries(fields)) setField(copy, cleanText(key), clean(value));
  return copy;
}
