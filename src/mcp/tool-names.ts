import { digest } from "../core/entry-kit.ts";

const longest = 64;
const digits = 6;

/**
 * Returns a name for each tool: the prefix, then the server's name, in which "_" replaces all characters except letters, digits,
 * "_" and "-". A name of more than 64 characters is shortened. A shortened name ends with six digits made from the server's name. A
 * name that would equal another name also gets these digits. The names do not depend on the order of the list.
 */
export function toToolNames(names: readonly string[], prefix: string): ReadonlyMap<string, string> {
  const plain = names.filter((name) => isPlain(name, prefix));
  const taken = new Set(plain.map((name) => prefix + name));
  // If two names would get the same digits, the first of the two gets the digits. The names are sorted, so that the result does not
  // depend on the order of the list.
  const changed = names.filter((name) => !isPlain(name, prefix)).sort();
  const wanted = countNames(changed, prefix);
  const made = new Map(plain.map((name) => [name, prefix + name]));
  for (const name of changed) {
    const base = toBase(name, prefix);
    const isFree = base.length <= longest && wanted.get(base) === 1 && !taken.has(base);
    const safe = isFree ? base : withDigits(base, { name, taken });
    taken.add(safe);
    made.set(name, safe);
  }
  return made;
}

function isPlain(name: string, prefix: string): boolean {
  return /^[\w-]+$/.test(name) && prefix.length + name.length <= longest;
}

function toBase(name: string, prefix: string): string {
  return prefix + (name.replace(/[^\w-]/gu, "_") || "_");
}

function countNames(names: readonly string[], prefix: string): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const name of names) {
    const base = toBase(name, prefix);
    counts.set(base, (counts.get(base) ?? 0) + 1);
  }
  return counts;
}

function withDigits(base: string, { name, taken }: { readonly name: string; readonly taken: ReadonlySet<string> }): string {
  const head = base.slice(0, longest - digits - 1);
  for (let attempt = 0; ; attempt += 1) {
    const safe = `${head}_${digest(attempt === 0 ? name : `${name} ${attempt}`).slice(-digits)}`;
    if (!taken.has(safe)) return safe;
  }
}
