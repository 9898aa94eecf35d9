// Writes docs/errors.md: every message of an error in src, with its code.

import ts from "typescript";
import { commentOf, parseSource } from "./read-interfaces.ts";

interface Message {
  readonly text: string;
  readonly code: string;
}

const cell = (text: string): string => text.replaceAll("|", "\\|").replaceAll("\n", " ");

/** Returns the value of a constant of the same file, such as `expected`, or of the first item of a list, such as `check[0]`. */
function constantOf(node: ts.Node): ts.Expression | undefined {
  if (ts.isElementAccessExpression(node)) {
    const list = constantOf(node.expression);
    return list !== undefined && ts.isArrayLiteralExpression(list) ? list.elements[0] : undefined;
  }
  if (!ts.isIdentifier(node)) return undefined;
  let scope: ts.Node = node;
  while (scope.parent !== undefined) {
    scope = scope.parent;
    if (!ts.isBlock(scope) && !ts.isSourceFile(scope)) continue;
    const declared = scope.statements
      .filter(ts.isVariableStatement)
      .flatMap(({ declarationList }) => declarationList.declarations);
    const found = declared.find(({ name }) => name.getText() === node.text);
    if (found !== undefined) return found.initializer;
  }
  return undefined;
}

/** Returns the texts that an expression may have. Values that only a run knows are written as "…". */
function textsOf(node: ts.Node): readonly string[] {
  if (ts.isStringLiteral(node) || ts.isNoSubstitutionTemplateLiteral(node)) return [node.text];
  if (ts.isParenthesizedExpression(node)) return textsOf(node.expression);
  if (ts.isConditionalExpression(node)) return [...textsOf(node.whenTrue), ...textsOf(node.whenFalse)];
  if (ts.isTemplateExpression(node))
    return [node.head.text + node.templateSpans.map(({ expression, literal }) => knownText(expression) + literal.text).join("")];
  return ts.isBinaryExpression(node) ? textsOfSum(node) : textsOfConstant(node);
}

function textsOfConstant(node: ts.Node): readonly string[] {
  const value = constantOf(node);
  return value === undefined ? [] : textsOf(value);
}

function textsOfSum({ left, right, operatorToken }: ts.BinaryExpression): readonly string[] {
  if (operatorToken.kind !== ts.SyntaxKind.PlusToken) return [];
  const [first = "…"] = textsOf(left);
  const [second = "…"] = textsOf(right);
  return [first + second];
}

/** Returns the text of a value in a message if it is a constant, and otherwise "…". */
function knownText(node: ts.Expression): string {
  const value = constantOf(node);
  const [text = "…"] = value === undefined || ts.isConditionalExpression(value) ? [] : textsOf(value);
  return text.includes("…") ? "…" : text;
}

const tidy = (text: string): string =>
  text
    .replaceAll(/…(?:[.\s]*…)+/g, "…")
    .replaceAll("…..", "….")
    .replace(/([.!?]) ….$/, "$1 …")
    .trim();

/** The texts of a function that returns a message. */
function returnsOf(node: ts.Node): readonly string[] {
  if (ts.isArrowFunction(node) && !ts.isBlock(node.body)) return textsOf(node.body);
  const found: string[] = [];
  const visit = (inner: ts.Node): void => {
    if (ts.isReturnStatement(inner) && inner.expression !== undefined) found.push(...textsOf(inner.expression));
    ts.forEachChild(inner, visit);
  };
  visit(node);
  return found;
}

function propertiesOf(node: ts.Expression | undefined): ReadonlyMap<string, ts.Expression> {
  const properties: readonly ts.ObjectLiteralElementLike[] =
    node !== undefined && ts.isObjectLiteralExpression(node) ? node.properties : [];
  return new Map(
    properties.flatMap((property) => {
      if (ts.isPropertyAssignment(property)) return [[nameOf(property.name), property.initializer] as const];
      return ts.isShorthandPropertyAssignment(property) ? [[nameOf(property.name), property.name] as const] : [];
    }),
  );
}

const nameOf = (name: ts.PropertyName): string => (ts.isStringLiteral(name) ? name.text : name.getText());

const withCode = (texts: readonly string[], code: string): readonly Message[] =>
  texts.map((text) => ({ text: tidy(text), code }));

/** A value that is not an option is described in words, such as "The argument of startWith()". `option` is in quotation marks. */
function subjectOf(option: string): string {
  return option.includes(" ") ? option.slice(1, -1) : `Option ${option}`;
}

/** Messages of LoopError whose text depends on `problem`: the places that set it have the words. */
const frames: { readonly [code: string]: (problem: string, place: string, received: string) => string } = {
  "invalid-option": (problem, option, received) => `${subjectOf(option)} is ${received}, but must be ${problem}.`,
  "invalid-tool": (problem) => `Tool … ${problem}.`,
  "invalid-schema": (problem) => `The input schema of tool … ${problem}.`,
  "invalid-messages": (problem) => `Message … ${problem}.`,
  "invalid-decision": (problem) => `The decision about call … ${problem}.`,
  "journal-refused": (problem) => `The file … cannot be used as a journal: ${problem}.`,
  "journal-damaged": (problem, place) =>
    place === "…"
      ? `The journal is damaged: the record … ${problem}. Use an unchanged copy, and check your "redact" function.`
      : `The journal … is damaged: line … ${problem}. Use an unchanged copy.`,
  "log-damaged": (problem) => `run log: ${problem}.`,
  "rerun-refused": (problem) => `The run cannot be repeated from iteration …: ${problem}.`,
  "conversation-refused": (problem) => `Conversation … ${problem}.`,
};

function readLoopError(code: string, details: ReadonlyMap<string, ts.Expression>): readonly Message[] {
  const read = (name: string): readonly string[] => {
    const value = details.get(name);
    return value === undefined ? [] : textsOf(value);
  };
  const [option] = read("option");
  const place = details.has("line") ? "line" : option === undefined ? "…" : `"${option}"`;
  const [received = "…", ...others] = read("received");
  const texts = details.has("problem") ? read("problem") : read("expected");
  return withCode(
    texts.map((text) => frames[code]?.(text, place, others.length > 0 ? "…" : received) ?? text),
    code,
  );
}

function readNew(node: ts.NewExpression): readonly Message[] {
  const [first, second] = node.arguments ?? [];
  const name = node.expression.getText();
  if (first === undefined) return [];
  if (name === "LoopError") {
    const [code = ""] = textsOf(first);
    return readLoopError(code, propertiesOf(second));
  }
  if (name === "RequestError" && second !== undefined) return withCode(textsOf(second), `RequestError ${first.getText()}`);
  return /^(?:Type|Range)?Error$/.test(name) ? withCode(textsOf(first), name) : [];
}

function readCall(node: ts.CallExpression): readonly Message[] {
  if (node.expression.getText() !== "invalidOption") return [];
  const [option, expected] = (node.arguments ?? []).map((argument) => textsOf(argument)[0] ?? "…");
  return withCode([`${subjectOf(`"${option}"`)} is …, but must be ${expected}.`], "invalid-option");
}

function readMessages(path: string): readonly Message[] {
  const found: Message[] = [];
  const visit = (node: ts.Node): void => {
    if (ts.isNewExpression(node)) found.push(...readNew(node));
    if (ts.isCallExpression(node)) found.push(...readCall(node));
    if (
      path === "src/core/errors/error-messages.ts" &&
      ts.isPropertyAssignment(node) &&
      node.parent.parent.getText().startsWith("messages") &&
      !(nameOf(node.name) in frames)
    )
      found.push(...withCode(returnsOf(node.initializer), nameOf(node.name)));
    if (path === "src/core/errors/message-words.ts" && ts.isVariableDeclaration(node) && node.name.getText() === "words")
      found.push(
        ...[...propertiesOf(node.initializer).values()].flatMap((value) =>
          withCode(
            textsOf(value).map((text) => `Message … ${text}.`),
            "invalid-messages",
          ),
        ),
      );
    ts.forEachChild(node, visit);
  };
  visit(parseSource(path));
  return found;
}

function readCodes(): readonly (readonly [code: string, comment: string])[] {
  const details = parseSource("src/shared/errors/loop-error.ts").statements.find(
    (node) => ts.isInterfaceDeclaration(node) && node.name.text === "LoopErrorDetails",
  );
  if (details === undefined || !ts.isInterfaceDeclaration(details)) throw new Error("There is no interface LoopErrorDetails.");
  return details.members.filter(ts.isPropertySignature).map((member) => [nameOf(member.name), commentOf(member)] as const);
}

/** Leaves out parts of messages: they begin with a small letter, have hardly any words, or do not say what is expected. */
function isWhole({ text, code }: Message): boolean {
  const words = text.match(/\p{L}{2,}/gu)?.length ?? 0;
  return (
    words > 3 &&
    !/^(?:Option|The) .* is …, but must be (?:…|.* of them)\.$/.test(text) &&
    !/^The (?:decision about call … is …\.$|input schema of tool …\. )/.test(text) &&
    (/^[a-z]/.test(code) || /^(?:["\p{Lu}…]|\w+\()/u.test(text))
  );
}

/** Returns the page. Messages that begin with a value are sorted by their first word. */
export function describeErrors(paths: readonly string[]): string {
  const codes = readCodes();
  const byText = new Map(paths.flatMap(readMessages).map(({ text, code }) => [`${text}\n${code}`, { text, code }] as const));
  const key = (text: string): string => text.replace(/^[^\p{L}]+/u, "").toLowerCase();
  const messages = [...byText.values()]
    .filter(isWhole)
    .sort((a, b) => key(a.text).localeCompare(key(b.text), "en") || a.code.localeCompare(b.code, "en"));
  return `# Errors by code and message

<!-- Generated by scripts/check-tables.ts -->

Most failures are not errors: a run [ends with a status and a reason](concepts/endings.md). Errors are thrown for misuse, and the table of codes
says what each one means. To find an error by its words, search the second table. "…" stands for one of your values.

\`isLoopError(error, code)\` recognizes a LoopError, and \`details\` has its data. [Provider
errors](concepts/endings.md#provider-error-codes) have their own codes. [Throw errors](guides/throwing-errors.md) lists the errors
of \`unwrap\`.

## LoopError codes

| Code | Meaning |
|---|---|
${codes.map(([code, comment]) => `| \`${code}\` | ${cell(comment)} |`).join("\n")}

## Messages

| Message | Error |
|---|---|
${messages.map(({ text, code }) => `| ${cell(text)} | ${/^[a-z]/.test(code) ? `\`${code}\`` : code} |`).join("\n")}
`;
}
