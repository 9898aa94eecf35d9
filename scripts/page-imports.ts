// Lists the imports that the code snippets of a page need. The imports are copied from the examples.

export interface Snippet {
  readonly code: string;
  readonly example: string;
}

const fromPackage = /import\s+(?:type\s+)?\{([^}]*)\}\s+from\s+"(turnwright[\w/-]*)"/g;

/** Returns the text for the line below `<!-- imports -->`, or undefined if the snippets use nothing from the package. */
export function describeImports(snippets: readonly Snippet[]): string | undefined {
  const entries = new Map<string, Set<string>>();
  for (const { code, example } of snippets) {
    for (const [, list = "", entry = ""] of example.matchAll(fromPackage)) {
      const names = list.split(",").map((name) => name.trim().replace(/^type /, ""));
      const used = names.filter((name) => name !== "" && isUsed(name, code));
      const known = entries.get(entry) ?? new Set<string>();
      for (const name of used) known.add(name);
      if (known.size > 0) entries.set(entry, known);
    }
  }
  if (entries.size === 0) return undefined;
  const byEntry = [...entries].sort(([a], [b]) => (a < b ? -1 : 1));
  return `Imported here: ${byEntry.map(([entry, names]) => `${listOf(names)} from \`${entry}\``).join("; ")}.`;
}

/** A function counts as used only if the code calls it, because a field or variable may have the same name. */
function isUsed(name: string, code: string): boolean {
  const isType = /^[A-Z]/.test(name);
  return new RegExp(`(?<!\\w|(?<!\\.\\.)\\.)${name}${isType ? "\\b" : "[(<]"}`).test(code);
}

function listOf(names: ReadonlySet<string>): string {
  const sorted = [...names].sort((a, b) => a.localeCompare(b, "en"));
  return sorted.map((name) => `\`${name}\``).join(", ");
}
