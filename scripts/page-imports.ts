// Writes the imports that a code snippet of a page needs, and names what else it uses. Both come from the example that contains it.

import ts from "typescript";

const maxWidth = 120;

/** Returns the lines to put above a snippet: the imports of its example that the snippet uses, and an empty line. */
export function importsOf(code: string, example: string): readonly string[] {
  const { used, declared } = readNames(code);
  const isNeeded = (name: string): boolean => used.has(name) && !declared.has(name);
  const lines = parse(example)
    .statements.filter(ts.isImportDeclaration)
    .filter(({ moduleSpecifier }) => ts.isStringLiteral(moduleSpecifier) && !moduleSpecifier.text.startsWith("."))
    .flatMap((statement) => writeImport(statement, isNeeded));
  return lines.length === 0 ? [] : [...lines, ""];
}

function parse(code: string): ts.SourceFile {
  return ts.createSourceFile("snippet.tsx", code, ts.ScriptTarget.Latest, true, ts.ScriptKind.TSX);
}

function writeImport(statement: ts.ImportDeclaration, isNeeded: (name: string) => boolean): readonly string[] {
  const { whole, named } = namesOf(statement, isNeeded);
  if (whole.length + named.length === 0) return [];
  const isTypes = whole.length === 0 && named.every((name) => name.startsWith("type "));
  const names = isTypes ? named.map((name) => name.replace("type ", "")) : named;
  const isTypeOnly = isTypes || /^import type\b/.test(statement.getText());
  const start = isTypeOnly ? "import type" : "import";
  const from = `from ${statement.moduleSpecifier.getText()};`;
  const line = `${start} ${[...whole, ...(names.length === 0 ? [] : [`{ ${names.join(", ")} }`])].join(", ")} ${from}`;
  if (line.length <= maxWidth) return [line];
  return [`${start} ${[...whole, "{"].join(", ")}`, ...names.map((name) => `  ${name},`), `} ${from}`];
}

interface ImportedNames {
  /** The default import, or `* as name`. */
  readonly whole: readonly string[];
  readonly named: readonly string[];
}

function namesOf({ importClause }: ts.ImportDeclaration, isNeeded: (name: string) => boolean): ImportedNames {
  const bindings = importClause?.namedBindings;
  const whole = importClause?.name !== undefined && isNeeded(importClause.name.text) ? [importClause.name.text] : [];
  if (bindings === undefined) return { whole, named: [] };
  if (!ts.isNamedImports(bindings))
    return { whole: isNeeded(bindings.name.text) ? [...whole, bindings.getText()] : whole, named: [] };
  return { whole, named: bindings.elements.filter(({ name }) => isNeeded(name.text)).map((element) => element.getText()) };
}

/** Names that every program has. Some examples replace them, to see what a snippet does. */
const globals: ReadonlySet<string> = new Set(["Date", "console", "fetch", "process"]);

/** The names that the code snippets of a page declare, and those that they use from the rest of their examples. */
export interface SnippetNames {
  readonly declared: ReadonlySet<string>;
  readonly borrowed: readonly string[];
}

export function namesIn(code: string, example: string): SnippetNames {
  const { used, declared } = readNames(code);
  const whole = readNames(example);
  const isBorrowed = (name: string): boolean =>
    whole.declared.has(name) && !whole.imported.has(name) && !declared.has(name) && !globals.has(name);
  return { declared, borrowed: [...used].filter(isBorrowed) };
}

interface Names {
  readonly used: ReadonlySet<string>;
  readonly declared: ReadonlySet<string>;
  readonly imported: ReadonlySet<string>;
}

function readNames(code: string): Names {
  const used = new Set<string>();
  const declared = new Set<string>();
  const imported = new Set<string>();
  const visit = (node: ts.Node): void => {
    if (ts.isIdentifier(node) && !isKey(node)) (declares(node) ? declared : used).add(node.text);
    if (ts.isIdentifier(node) && isFromPackage(node)) imported.add(node.text);
    ts.forEachChild(node, visit);
  };
  visit(parse(code));
  return { used, declared, imported };
}

/** True for an imported name, unless it comes from another file of the same example. */
function isFromPackage(node: ts.Identifier): boolean {
  const declaration = ts.findAncestor(node, ts.isImportDeclaration);
  return declaration !== undefined && !/^["']\./.test(declaration.moduleSpecifier.getText());
}

function declares(node: ts.Identifier): boolean {
  const { parent } = node;
  const isNamed =
    ts.isVariableDeclaration(parent) ||
    ts.isParameter(parent) ||
    ts.isBindingElement(parent) ||
    ts.isFunctionDeclaration(parent) ||
    ts.isInterfaceDeclaration(parent) ||
    ts.isTypeAliasDeclaration(parent) ||
    ts.isImportSpecifier(parent) ||
    ts.isImportClause(parent);
  return isNamed && parent.name === node;
}

/** Names of fields are not names of imports. */
function isKey(node: ts.Identifier): boolean {
  const { parent } = node;
  if (ts.isBindingElement(parent)) return parent.propertyName === node;
  const isField =
    ts.isPropertyAccessExpression(parent) ||
    ts.isPropertyAssignment(parent) ||
    ts.isPropertySignature(parent) ||
    ts.isMethodDeclaration(parent) ||
    ts.isMethodSignature(parent) ||
    ts.isJsxAttribute(parent);
  return isField && parent.name === node;
}
