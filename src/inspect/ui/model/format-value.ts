const maxLineLength = 76;
const deepest = 400;

/**
 * Returns JSON data as text: a string unchanged, and other values as JSON. Short lists and objects are on one line. A multi-line string is
 * written in triple quotation marks, because code and documents are hard to read with escapes.
 */
export function formatValue(value: unknown): string {
  return typeof value === "string" ? value : print(value, 0);
}

function print(value: unknown, depth: number): string {
  if (typeof value === "string" && value.includes("\n")) return `"""\n${value}\n"""`;
  if (typeof value !== "object" || value === null) return JSON.stringify(value) ?? "";
  if (depth > deepest) return "(nested too deeply to be shown)";
  const isList = Array.isArray(value);
  const items = isList
    ? value.map((item: unknown) => print(item, depth + 1))
    : Object.entries(value).map(([key, item]) => `${JSON.stringify(key)}: ${print(item, depth + 1)}`);
  const [open, close] = isList ? ["[", "]"] : ["{", "}"];
  if (items.length === 0) return `${open}${close}`;
  if (isShort(items)) return isList ? `[${items.join(", ")}]` : `{ ${items.join(", ")} }`;
  const indent = "  ".repeat(depth + 1);
  return `${open}\n${items.map((item) => `${indent}${item}`).join(",\n")}\n${"  ".repeat(depth)}${close}`;
}

function isShort(items: readonly string[]): boolean {
  let length = 0;
  for (const item of items) {
    length += item.length + 2;
    if (length > maxLineLength || item.includes("\n")) return false;
  }
  return true;
}

/** Looks up a key from a log. Inherited keys such as "constructor" are not found. */
export function lookUp<T>(table: { readonly [key: string]: T | undefined }, key: unknown): T | undefined {
  return typeof key === "string" && Object.hasOwn(table, key) ? table[key] : undefined;
}

export function wordOf(value: unknown): string {
  return typeof value === "string" ? value : (JSON.stringify(value) ?? "");
}
