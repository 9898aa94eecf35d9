// The public exports of each entry, with name and kind. A change appears in review as a changed snapshot file.

import { createRequire } from "node:module";
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";
import ts from "typescript";
import { describe, expect, it } from "vitest";
import { entries } from "../../scripts/entries.ts";

const kinds: readonly (readonly [flag: ts.SymbolFlags, kind: string])[] = [
  [ts.SymbolFlags.Class, "class"],
  [ts.SymbolFlags.Function, "function"],
  [ts.SymbolFlags.Variable, "const"],
  [ts.SymbolFlags.Interface, "interface"],
  [ts.SymbolFlags.TypeAlias, "type"],
];
const values: ReadonlySet<string> = new Set(["class", "function", "const"]);

interface Exported {
  readonly name: string;
  readonly kind: string;
}

const options: ts.CompilerOptions = {
  module: ts.ModuleKind.Node16,
  target: ts.ScriptTarget.ES2022,
  noLib: true,
  types: [],
};

// Names and kinds of exports need only the package's own files. The types of all SDKs would take ten times as long to read.
const noModule: ts.ResolvedModuleWithFailedLookupLocations = { resolvedModule: undefined };
const host: ts.CompilerHost = {
  ...ts.createCompilerHost(options),
  resolveModuleNameLiterals: (literals, file) =>
    literals.map(({ text }) => (text.startsWith(".") ? ts.resolveModuleName(text, file, options, ts.sys) : noModule)),
};

// One program checks all entries, because each program reads all files again.
const program = ts.createProgram(
  entries.flatMap(({ name }) => [`dist/${name}.d.ts`, `dist/${name}.d.cts`]),
  options,
  host,
);
const checker = program.getTypeChecker();

function readSurface(path: string): readonly Exported[] {
  const file = program.getSourceFile(path);
  const module = file && checker.getSymbolAtLocation(file);
  if (module === undefined) throw new Error(`${path} is missing or exports nothing.`);
  return checker
    .getExportsOfModule(module)
    .map((symbol) => {
      const target = symbol.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(symbol) : symbol;
      const kind = kinds.find(([flag]) => (target.flags & flag) !== 0)?.[1] ?? "unknown";
      return { name: symbol.name, kind };
    })
    .sort((one, other) => one.name.localeCompare(other.name, "en"));
}

function namesOf(loaded: unknown): readonly string[] {
  return typeof loaded === "object" && loaded !== null ? Object.keys(loaded).sort() : [];
}

describe.for(entries)("$specifier", ({ name }) => {
  const surface = readSurface(`dist/${name}.d.ts`);

  it("exports the names and kinds in its snapshot", async () => {
    const lines = surface.map((exported) => `${exported.kind} ${exported.name}\n`);
    await expect(lines.join("")).toMatchFileSnapshot(`surface/${name}.txt`);
  });

  it("has the same types for CommonJS", () => {
    expect(readSurface(`dist/${name}.d.cts`)).toEqual(surface);
  });

  it("exports all its values as ESM and as CommonJS", async () => {
    const expected = surface.filter(({ kind }) => values.has(kind)).map((exported) => exported.name);
    const esm: unknown = await import(pathToFileURL(resolve(`dist/${name}.js`)).href);
    const cjs: unknown = createRequire(import.meta.url)(resolve(`dist/${name}.cjs`));
    expect(namesOf(esm)).toEqual([...expected].sort());
    expect(namesOf(cjs)).toEqual([...expected].sort());
  });
});

it("the index entry exports at most 120 names", () => {
  expect(readSurface("dist/index.d.ts").length).toBeLessThanOrEqual(120);
});

it("the kit entry exports at most 110 names", () => {
  expect(readSurface("dist/kit.d.ts").length).toBeLessThanOrEqual(110);
});

it("the entry points together export at most 520 names", () => {
  const counts = entries.map(({ name }) => readSurface(`dist/${name}.d.ts`).length);
  expect(counts.reduce((sum, count) => sum + count, 0)).toBeLessThanOrEqual(520);
});
