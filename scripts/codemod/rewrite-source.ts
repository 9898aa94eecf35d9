// Rewrites one file from `policies`, `hooks` and `decisions` to `middleware` and `answers`.

import ts from "typescript";
import { factories, otherNames, toProse } from "./policy-words.ts";
import { isOptions, type Ports, unwrap, writeList, writeOptions } from "./write-middleware.ts";

export interface Rewritten {
  readonly text: string;
  /** The places that need a human, as "file:line: reason". */
  readonly problems: readonly string[];
}

const moving = /\b(policies|hooks|contextItems|maxRestarts|decisions|LoopPolicies)\b/;

const listType = /^(?:NonNullable<)?LoopOptions\["(?:policies|hooks)"\]>?$|^Loop(?:Policies|Hooks)$/;

const fieldType = /^(?:NonNullable<)?(?:LoopOptions\["(?:policies|hooks)"\]|Loop(?:Policies|Hooks))>?\["(\w+)"\]$/;

/** The types of policies that have a name of their own. */
const namedTypes: { readonly [policy: string]: string } = { approve: "Approve", output: "StructuredOutput" };

/** The decisions that come from a page keep their name. */
const readers: ReadonlySet<string> = new Set(["readUIChatRequest", "readAGUIRequest"]);

export function rewriteSource(path: string, text: string): Rewritten {
  return moving.test(text) ? new Rewriter(path, text).rewrite() : { text, problems: [] };
}

class Rewriter {
  readonly #file: ts.SourceFile;
  readonly #problems: string[] = [];
  readonly #imports = new Set<string>();
  /** The variables whose value is an object with policies or hooks. */
  readonly #lists = new Set<string>();
  /** The scopes of all variables, by name. */
  readonly #scopes = new Map<string, ts.Node[]>();
  /** The new names of the variables that hide a factory, and where they apply. */
  readonly #renamed = new Map<string, { readonly name: string; readonly scopes: readonly ts.Node[] }>();
  readonly #ports: Ports;
  #isFromPage = false;

  constructor(path: string, text: string) {
    const kind = path.endsWith("x") ? ts.ScriptKind.TSX : ts.ScriptKind.TS;
    this.#file = ts.createSourceFile(path, text, ts.ScriptTarget.Latest, true, kind);
    this.#ports = {
      render: (node) => this.#render(node),
      report: (node, problem) => this.#report(node, problem),
      use: (name) => void this.#imports.add(name),
      isList: (name) => this.#lists.has(name) && this.#scopes.has(name),
    };
  }

  rewrite(): Rewritten {
    this.#collect(this.#file);
    for (const [factory, others] of Object.entries(otherNames)) {
      const scopes = (this.#scopes.get(factory) ?? []).filter((scope) => usesPolicy(scope, factory));
      const name = others.find((other) => !this.#scopes.has(other)) ?? `${factory}Policy`;
      if (scopes.length > 0) this.#renamed.set(factory, { name, scopes });
    }
    const before = this.#file.text.slice(0, this.#file.getStart());
    const text = (before + this.#render(this.#file)).replaceAll(/(?<=^|\s)\/\/ .*$|\/\*\*[^]*?\*\//gm, toProse);
    return { text: this.#addImports(text), problems: this.#problems };
  }

  /** Finds the variables of the file, and those that hold lists. */
  #collect(node: ts.Node): void {
    if (ts.isPropertyAssignment(node) && isPolicies(node.name)) this.#collectList(node.initializer);
    if (ts.isShorthandPropertyAssignment(node) && isPolicies(node.name)) this.#lists.add(node.name.text);
    if (ts.isVariableDeclaration(node) || ts.isParameter(node) || ts.isBindingElement(node)) this.#collectVariable(node);
    if (ts.isCallExpression(node) && readers.has(node.expression.getText())) this.#isFromPage = true;
    node.forEachChild((child) => this.#collect(child));
  }

  #collectVariable(node: ts.VariableDeclaration | ts.ParameterDeclaration | ts.BindingElement): void {
    if (!ts.isIdentifier(node.name)) return;
    const { text } = node.name;
    this.#scopes.set(text, [...(this.#scopes.get(text) ?? []), scopeOf(node)]);
    if ("type" in node && listType.test(node.type?.getText() ?? "")) this.#lists.add(text);
  }

  #collectList(given: ts.Expression): void {
    const value = unwrap(given);
    if (ts.isIdentifier(value)) this.#lists.add(value.text);
    else if (ts.isConditionalExpression(value)) [value.whenTrue, value.whenFalse].forEach((one) => this.#collectList(one));
    else if (ts.isObjectLiteralExpression(value))
      value.properties.forEach((member) => ts.isSpreadAssignment(member) && this.#collectList(member.expression));
  }

  /** Returns the text of a node with its rewritten parts, without the comments before it. */
  #render(node: ts.Node): string {
    const changed = this.#changeReturned(node) ?? this.#change(node);
    if (changed !== undefined) return changed;
    const { text } = this.#file;
    let position = node.getStart();
    let result = "";
    node.forEachChild((child) => {
      result += text.slice(position, child.getStart()) + this.#render(child);
      position = child.end;
    });
    return result + text.slice(position, node.end);
  }

  #change(node: ts.Node): string | undefined {
    if (ts.isObjectLiteralExpression(node)) return isOptions(node) ? writeOptions(node, this.#ports) : undefined;
    if (ts.isVariableDeclaration(node)) return this.#changeVariable(node);
    if (ts.isIndexedAccessTypeNode(node) || ts.isTypeReferenceNode(node)) return this.#changeType(node.getText());
    if (ts.isShorthandPropertyAssignment(node)) return this.#changeShorthand(node.name);
    if (ts.isBindingElement(node)) return this.#changeBinding(node);
    if (ts.isStringLiteralLike(node)) return changeLiteral(node);
    return ts.isIdentifier(node) ? this.#changeName(node) : undefined;
  }

  #changeVariable({ name, type, initializer }: ts.VariableDeclaration): string | undefined {
    if (!ts.isIdentifier(name) || initializer === undefined || !this.#lists.has(name.text)) return undefined;
    const list = writeList(initializer, this.#ports);
    return list && `${this.#render(name)}${type === undefined ? "" : `: ${this.#render(type)}`} = ${list}`;
  }

  /** Changes the value that a function for lists returns. */
  #changeReturned(node: ts.Node): string | undefined {
    const isReturn = ts.isReturnStatement(node);
    if (!(isReturn || isBody(node)) || !listType.test(functionOf(node)?.type?.getText() ?? "")) return undefined;
    const value = isReturn ? node.expression : (node as ts.Expression);
    if (value === undefined) return undefined;
    const list = writeList(value, this.#ports);
    return list && (isReturn ? `return ${list};` : list);
  }

  #changeShorthand(name: ts.Identifier): string | undefined {
    if (name.text === "policies") return "middleware";
    if (name.text === "decisions") return this.#isFromPage ? "answers: decisions" : "answers";
    const other = this.#nameOf(name);
    return other && `${name.text}: ${other}`;
  }

  #changeBinding({ name, propertyName, initializer, parent }: ts.BindingElement): string | undefined {
    if (!ts.isIdentifier(name) || propertyName !== undefined || !ts.isObjectBindingPattern(parent)) return undefined;
    const other = this.#nameOf(name);
    return other && `${name.text}: ${other}${initializer === undefined ? "" : ` = ${this.#render(initializer)}`}`;
  }

  #changeName(node: ts.Identifier): string | undefined {
    const { text, parent } = node;
    if (text === "policies") return "middleware";
    if (text === "decisions") return this.#changeDecisions(node);
    return isPropertyName(node) || ts.isImportSpecifier(parent) ? undefined : this.#nameOf(node);
  }

  #changeDecisions(node: ts.Identifier): string | undefined {
    if (ts.isPropertyAccessExpression(node.parent) && isPropertyName(node)) {
      this.#report(node, 'a read of the field "decisions"');
      return undefined;
    }
    return this.#isFromPage && !ts.isPropertyAssignment(node.parent) ? undefined : "answers";
  }

  #changeType(text: string): string | undefined {
    if (listType.test(text)) {
      this.#imports.add("type Middleware");
      return "readonly Middleware[]";
    }
    const policy = fieldType.exec(text)?.[1];
    if (policy === undefined) return undefined;
    if (policy === "allowToolChange") return 'LoopOptions["allowToolChange"]';
    const named = namedTypes[policy];
    const factory = factories[policy] ?? policy;
    this.#imports.add(named === undefined ? factory : `type ${named}`);
    return named ?? `Parameters<typeof ${factory}>[0]`;
  }

  /** Returns the new name of a local variable that hides a factory. */
  #nameOf(node: ts.Identifier): string | undefined {
    const renamed = this.#renamed.get(node.text);
    const isInside = renamed?.scopes.some((scope) => scope.pos <= node.pos && node.end <= scope.end);
    return isInside === true ? renamed?.name : undefined;
  }

  #report(node: ts.Node, problem: string): void {
    const { line } = this.#file.getLineAndCharacterOfPosition(node.getStart());
    this.#problems.push(`${this.#file.fileName}:${line + 1}: ${problem}`);
  }

  /** Adds names to the import of "turnwright", and sorts it. */
  #addImports(text: string): string {
    const has = (name: string): boolean => new RegExp(`import[^;]*[{,\\s]${name}\\b[^;]*from "turnwright"`).test(text);
    const missing = [...this.#imports].filter((name) => !has(name));
    if (missing.length === 0) return text;
    const [line, type, names] = /import (type )?\{([^}]*)\} from "turnwright";/.exec(text) ?? [];
    if (line === undefined) return this.#addImport(text, missing);
    const before = (names ?? "").split(",").flatMap((name) => name.trim() || []);
    const all = [...before.map((name) => (type === undefined ? name : `type ${name}`)), ...missing]
      .filter((name) => !/^type Loop(Policies|Hooks)$/.test(name))
      .sort((a, b) => a.replace("type ", "").localeCompare(b.replace("type ", "")));
    const isTypes = all.every((name) => name.startsWith("type "));
    const written = all.map((name) => (isTypes ? name.replace("type ", "") : name)).join(", ");
    return text.replace(line, `import ${isTypes ? "type " : ""}{ ${written} } from "turnwright";`);
  }

  #addImport(text: string, names: readonly string[]): string {
    if (/^import /m.test(text)) return text.replace(/^import /m, `import { ${names.join(", ")} } from "turnwright";\nimport `);
    this.#problems.push(`${this.#file.fileName}:1: imports ${names.join(", ")}`);
    return text;
  }
}

function isPolicies(name: ts.Node): boolean {
  return "text" in name && (name.text === "policies" || name.text === "hooks");
}

function isPropertyName(node: ts.Identifier): boolean {
  const { parent } = node;
  if (ts.isBindingElement(parent)) return parent.propertyName === node;
  const isNamed =
    ts.isPropertyAssignment(parent) ||
    ts.isPropertySignature(parent) ||
    ts.isMethodDeclaration(parent) ||
    ts.isPropertyAccessExpression(parent);
  return isNamed && parent.name === node;
}

function changeLiteral(node: ts.StringLiteralLike): string | undefined {
  if (!ts.isLiteralTypeNode(node.parent)) return isTitle(node) ? toProse(node.getText()) : undefined;
  if (isPolicies(node)) return '"middleware"';
  return node.text === "decisions" ? '"answers"' : undefined;
}

/** True for titles of tests. */
function isTitle({ parent }: ts.Node): boolean {
  return ts.isCallExpression(parent) && /^(it|describe|test)\b/.test(parent.expression.getText());
}

function isBody(node: ts.Node): boolean {
  return node.kind !== ts.SyntaxKind.SourceFile && ts.isArrowFunction(node.parent) && node.parent.body === node;
}

function functionOf({ parent }: ts.Node): ts.SignatureDeclaration | undefined {
  if (parent === undefined || ts.isFunctionLike(parent)) return parent;
  return functionOf(parent);
}

/** Returns the function, the block or the file in which a variable is visible. */
function scopeOf({ parent }: ts.Node): ts.Node {
  return ts.isFunctionLike(parent) || ts.isBlock(parent) || ts.isSourceFile(parent) ? parent : scopeOf(parent);
}

/** True if the scope sets the policy or hook with this name. */
function usesPolicy(node: ts.Node, name: string): boolean {
  const isMember = ts.isPropertyAssignment(node) || ts.isShorthandPropertyAssignment(node) || ts.isMethodDeclaration(node);
  if (isMember && node.name.getText() === name && isInPolicies(node)) return true;
  return ts.forEachChild(node, (child) => usesPolicy(child, name) || undefined) ?? false;
}

function isInPolicies({ parent }: ts.Node): boolean {
  let outer = parent.parent;
  while (ts.isParenthesizedExpression(outer) || ts.isAsExpression(outer) || ts.isSpreadAssignment(outer)) outer = outer.parent;
  if (ts.isPropertyAssignment(outer)) return isPolicies(outer.name);
  return [ts.isVariableDeclaration, ts.isObjectLiteralExpression, ts.isBinaryExpression, ts.isConditionalExpression].some((is) =>
    is(outer),
  );
}
