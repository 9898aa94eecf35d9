/** Returns the value of a key that comes from a log. A key such as "constructor" has no value. */
export function lookUp<T>(table: { readonly [key: string]: T | undefined }, key: unknown): T | undefined {
  return typeof key === "string" && Object.hasOwn(table, key) ? table[key] : undefined;
}

/** Returns a value of a log as text, for a sentence. */
export function wordOf(value: unknown): string {
  return typeof value === "string" ? value : (JSON.stringify(value) ?? "");
}
