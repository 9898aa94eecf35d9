// A plugin for the build: turns imports of the core's index and kit into imports of the files that define the names. Otherwise each
// entry would reach the whole core through these two files, and the build could not split the core into chunks.

import { readFileSync } from "node:fs";
import { dirname, relative, resolve } from "node:path";
import type { Plugin } from "esbuild";
import ts from "typescript";

const doors: ReadonlySet<string> = new Set(["src/core/index.ts", "src/core/kit.ts"].map((path) => resolve(path)));

const core = resolve("src/core");

const parse = (path: string): ts.SourceFile => ts.createSourceFile(path, readFileSync(path, "utf8"), ts.ScriptTarget.Latest);

interface Name {
  readonly imported: string;
  readonly local: string;
}

interface Named {
  /** Absolute. */
  readonly from: string;
  readonly names: readonly Name[];
}

/** Reads `import { ... } from "./file"` and `export { ... } from "./file"`. Leaves out types. */
function readNamed(statement: ts.Statement, path: string): Named | undefined {
  if (!ts.isImportDeclaration(statement) && !ts.isExportDeclaration(statement)) return undefined;
  const { moduleSpecifier } = statement;
  if (moduleSpecifier === undefined || !ts.isStringLiteral(moduleSpecifier) || !moduleSpecifier.text.startsWith("."))
    return undefined;
  const isImport = ts.isImportDeclaration(statement);
  const areTypes = isImport ? statement.importClause?.phaseModifier === ts.SyntaxKind.TypeKeyword : statement.isTypeOnly;
  const names = readElements(isImport ? statement.importClause?.namedBindings : statement.exportClause);
  return names && { from: resolve(dirname(path), moduleSpecifier.text), names: areTypes ? [] : names };
}

function readElements(clause: ts.NamedImportBindings | ts.NamedExportBindings | undefined): readonly Name[] | undefined {
  if (clause === undefined || !(ts.isNamedImports(clause) || ts.isNamedExports(clause))) return undefined;
  return [...clause.elements]
    .filter(({ isTypeOnly }) => !isTypeOnly)
    .map(({ propertyName, name }) => ({ imported: (propertyName ?? name).text, local: name.text }));
}

/** Returns the file and the name there, for each name that the index or the kit exports. */
function readDoor(path: string): ReadonlyMap<string, { readonly from: string; readonly name: string }> {
  return new Map(
    parse(path).statements.flatMap((statement) => {
      const named = readNamed(statement, path);
      return (named?.names ?? []).map(({ imported, local }) => [local, { from: named?.from ?? path, name: imported }] as const);
    }),
  );
}

const exported = new Map([...doors].map((path) => [path, readDoor(path)]));

function follow(statement: ts.Statement, path: string): string | undefined {
  const named = readNamed(statement, path);
  const door = named && exported.get(named.from);
  if (named === undefined || door === undefined) return undefined;
  const keyword = ts.isImportDeclaration(statement) ? "import" : "export";
  return named.names
    .map(({ imported, local }) => {
      const found = door.get(imported);
      if (found === undefined)
        throw new Error(`${relative(".", named.from)} does not export ${imported}, which ${path} imports.`);
      return `${keyword} { ${found.name} as ${local} } from ${JSON.stringify(found.from)};`;
    })
    .join(" ");
}

export const followExports: Plugin = {
  name: "follow-exports",
  setup(build) {
    build.onLoad({ filter: /[\\/]src[\\/].*\.tsx?$/ }, ({ path }) => {
      if (path.startsWith(core)) return undefined;
      const file = parse(path);
      let contents = file.text;
      for (const statement of [...file.statements].reverse()) {
        const followed = follow(statement, path);
        if (followed === undefined) continue;
        contents = contents.slice(0, statement.getStart(file)) + followed + contents.slice(statement.end);
      }
      return { contents, loader: path.endsWith("x") ? "tsx" : "ts", resolveDir: dirname(path) };
    });
  },
};
