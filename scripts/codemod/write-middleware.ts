// Writes the options of a run with `middleware` instead of `policies`, `hooks`, `contextItems` and `limits.maxRestarts`.

import ts from "typescript";
import { factories, order } from "./policy-words.ts";

/** The file that is rewritten. */
export interface Ports {
  /** Returns the text of a node with its rewritten parts. */
  render(node: ts.Node): string;
  report(node: ts.Node, problem: string): void;
  /** Adds a name to the import of "turnwright". */
  use(name: string): void;
  /** True if the variable is a list of middleware after the rewrite. */
  isList(name: string): boolean;
}

/** One middleware of a list. Without a rank, its place is not known. */
interface Item {
  readonly rank: number | undefined;
  readonly text: string;
}

/** The parts of the options of a run. */
interface Parts {
  readonly items: Item[];
  /** The fields for `contextRestarts`. */
  readonly restarts: string[];
  /** The options that were policies. */
  readonly moved: string[];
  readonly members: { text: string; readonly leads: string; readonly isList?: true }[];
}

function isList(member: ts.ObjectLiteralElementLike): boolean {
  return ["policies", "hooks"].includes(member.name?.getText() ?? "");
}

function isCap(member: ts.ObjectLiteralElementLike): boolean {
  return member.name?.getText() === "maxRestarts";
}

/** True if the object has an option that moves. */
export function isOptions({ properties }: ts.ObjectLiteralExpression): boolean {
  return properties.some((member) => {
    const value = valueOf(member);
    if (value === undefined) return false;
    if (isList(member)) return !ts.isArrayLiteralExpression(value) && !ts.isStringLiteralLike(value);
    if (member.name?.getText() === "limits") return ts.isObjectLiteralExpression(value) && value.properties.some(isCap);
    return member.name?.getText() === "contextItems" && (ts.isArrayLiteralExpression(value) || ts.isIdentifier(value));
  });
}

export function writeOptions(node: ts.ObjectLiteralExpression, ports: Ports): string {
  const parts: Parts = { items: [], restarts: [], moved: [], members: [] };
  const { text } = node.getSourceFile();
  for (const member of node.properties) addMember(member, parts, ports);
  const { items, restarts, moved, members } = parts;
  if (restarts.length > 0) items.push(writeRestarts(restarts, ports));
  const list = members.find((one) => one.isList) ?? { text: "", leads: " " };
  if (!members.includes(list)) members.push(list);
  const value = toList(sort(items));
  if (items.length > 0 || list.isList === true) list.text = value === "middleware" ? value : `middleware: ${value}`;
  members.push(...moved.map((option) => ({ text: option, leads: " " })));
  const shown = members.filter((one) => one.text !== "").map((one) => one.leads + one.text);
  const end = text.slice(node.properties.end, node.end - 1).replace(/^\s*,/, "");
  return `{${shown.join(",")}${shown.length > 0 && end.includes("\n") ? "," : ""}${end}}`;
}

function addMember(member: ts.ObjectLiteralElementLike, parts: Parts, ports: Ports): void {
  const { items, restarts, members } = parts;
  const value = valueOf(member);
  const name = value === undefined ? "" : (member.name?.getText() ?? "");
  const leads = member.getSourceFile().text.slice(member.pos, member.getStart());
  if (name === "limits" && value !== undefined && ts.isObjectLiteralExpression(value)) {
    const text = writeLimits(member, value, { ...ports, restarts });
    if (text !== undefined) members.push({ text, leads });
    return;
  }
  if (value === undefined || !["policies", "hooks", "contextItems", "middleware"].includes(name)) {
    members.push({ text: ports.render(member), leads });
    return;
  }
  if (!members.some((one) => one.isList)) members.push({ text: "", leads, isList: true });
  if (name === "contextItems") restarts.push(`items: ${ports.render(value)}`);
  else items.push(...itemsOf(value, parts, ports));
}

/** Returns the limits without `maxRestarts`, or undefined if no limit is left. */
function writeLimits(
  member: ts.Node,
  { properties }: ts.ObjectLiteralExpression,
  { render, restarts }: Pick<Ports, "render"> & Pick<Parts, "restarts">,
): string | undefined {
  const caps = properties.filter(isCap);
  if (caps.length === 0) return render(member);
  restarts.push(...caps.map(render));
  const others = properties.filter((one) => !isCap(one)).map(render);
  return others.length === 0 ? undefined : `limits: { ${others.join(", ")} }`;
}

function writeRestarts(fields: readonly string[], ports: Ports): Item {
  ports.use("contextRestarts");
  const [first = ""] = fields;
  const given = fields.length === 1 && first.startsWith("...") ? first.slice(3) : `{ ${fields.join(", ")} }`;
  return { rank: order.indexOf("restarts"), text: `contextRestarts(${given})` };
}

/** Returns the list that replaces the value of a variable, or undefined if the value is no object. */
export function writeList(given: ts.Expression, ports: Ports): string | undefined {
  const value = unwrap(given);
  if (!ts.isObjectLiteralExpression(value) && !ts.isConditionalExpression(value)) return undefined;
  const moved: string[] = [];
  const items = itemsOf(value, { moved }, ports);
  if (moved.length > 0) ports.report(value, `move to the options: ${moved.join(", ")}`);
  return toList(items);
}

type Lists = Pick<Parts, "moved"> & { readonly restarts?: string[] };

function itemsOf(given: ts.Expression, lists: Lists, ports: Ports): readonly Item[] {
  const value = unwrap(given);
  if (value.getText() === "undefined") return [];
  if (ts.isArrayLiteralExpression(value)) return value.elements.map((one) => ({ rank: undefined, text: ports.render(one) }));
  if (ts.isObjectLiteralExpression(value)) return sort(value.properties.flatMap((member) => itemOf(member, lists, ports)));
  if (ts.isConditionalExpression(value)) {
    const [yes = [], no = []] = [value.whenTrue, value.whenFalse].map((one) => itemsOf(one, { moved: lists.moved }, ports));
    return [choose(ports.render(value.condition), yes, no)];
  }
  if (ts.isBinaryExpression(value) && value.operatorToken.kind === ts.SyntaxKind.AmpersandAmpersandToken)
    return [choose(ports.render(value.left), itemsOf(value.right, { moved: lists.moved }, ports), [])];
  if (!ts.isIdentifier(value) || !ports.isList(value.text)) ports.report(value, `the list ${value.getText().slice(0, 60)}`);
  const text = ports.render(value);
  // The options of others may have no list.
  return [{ rank: undefined, text: ts.isPropertyAccessExpression(value) ? `...(${text} ?? [])` : `...${text}` }];
}

function choose(condition: string, yes: readonly Item[], no: readonly Item[]): Item {
  const [only] = yes;
  if (only !== undefined && yes.length === 1 && no.length === 0 && !only.text.startsWith("..."))
    return { rank: only.rank, text: `${condition} && ${only.text}` };
  return { rank: undefined, text: `...(${condition} ? ${toList(yes)} : ${toList(no)})` };
}

/** Returns the middleware of one policy or hook. */
function itemOf(member: ts.ObjectLiteralElementLike, lists: Lists, ports: Ports): readonly Item[] {
  if (ts.isSpreadAssignment(member)) {
    ports.report(member, "a spread in policies or hooks");
    return itemsOf(member.expression, lists, ports);
  }
  const name = member.name.getText();
  const text = writeValue(member, ports);
  if (text === undefined) return [];
  if (name === "allowToolChange") lists.moved.push(text === name ? name : `${name}: ${text}`);
  else if (name === "restarts" && lists.restarts !== undefined) lists.restarts.push(...writeFields(member, text, ports));
  else return [{ rank: rankOf(name), text: commentBefore(member) + writeCall(member, text, ports) }];
  return [];
}

/** Returns the text of a value. Undefined for a value that sets nothing. */
function writeValue(member: ts.ObjectLiteralElementLike, ports: Ports): string | undefined {
  const value = valueOf(member);
  const text = value === undefined ? writeMethod(member, ports) : ports.render(value);
  const isUnset = text === "undefined" || (text === "false" && member.name?.getText() === "finalAnswer");
  return isUnset ? undefined : text;
}

function writeFields(member: ts.ObjectLiteralElementLike, text: string, ports: Ports): readonly string[] {
  const value = valueOf(member);
  if (value === undefined || !ts.isObjectLiteralExpression(value)) return [`...${text}`];
  return value.properties.map((field) => ports.render(field));
}

function writeCall(member: ts.ObjectLiteralElementLike, text: string, ports: Ports): string {
  const name = member.name?.getText() ?? "";
  const factory = factories[name];
  if (factory !== undefined) ports.use(factory);
  else if (rankOf(name) === undefined) ports.report(member, `policy "${name}"`);
  if (factory === undefined) return text;
  return name === "finalAnswer" && text === "true" ? "finalAnswer()" : `${factory}(${text})`;
}

function rankOf(name: string): number | undefined {
  const rank = order.indexOf(name);
  return rank < 0 ? undefined : rank;
}

function writeMethod(member: ts.ObjectLiteralElementLike, ports: Ports): string | undefined {
  if (!ts.isMethodDeclaration(member) || member.body === undefined || member.asteriskToken !== undefined) {
    ports.report(member, "a member that is no value");
    return undefined;
  }
  if (/\bthis\b/.test(member.body.getText())) ports.report(member, "a method that uses this");
  const isAsync = member.modifiers?.some(({ kind }) => kind === ts.SyntaxKind.AsyncKeyword) === true;
  const parameters = member.parameters.map((one) => ports.render(one)).join(", ");
  const type = member.type === undefined ? "" : `: ${ports.render(member.type)}`;
  return `${isAsync ? "async " : ""}(${parameters})${type} => ${ports.render(member.body)}`;
}

function valueOf(member: ts.ObjectLiteralElementLike): ts.Expression | undefined {
  if (ts.isPropertyAssignment(member)) return member.initializer;
  return ts.isShorthandPropertyAssignment(member) ? member.name : undefined;
}

export function unwrap(value: ts.Expression): ts.Expression {
  const isWrapped = ts.isParenthesizedExpression(value) || (ts.isAsExpression(value) && value.type.getText() === "const");
  return isWrapped ? unwrap(value.expression) : value;
}

/** Leaves lists as they are that have middleware whose place is not known. */
function sort(items: readonly Item[]): readonly Item[] {
  if (items.some(({ rank }) => rank === undefined)) return items;
  return items.toSorted((a, b) => (a.rank ?? 0) - (b.rank ?? 0));
}

function toList(items: readonly Item[]): string {
  const [only] = items;
  if (items.length === 1 && only?.text.startsWith("...") === true)
    return only.text.replace(/^\.\.\.(?:\((.*) \?\? \[\]\)$)?/, "$1");
  return `[${items.map(({ text }) => text).join(", ")}]`;
}

function commentBefore(node: ts.Node): string {
  const trivia = node.getSourceFile().text.slice(node.pos, node.getStart()).trim();
  return trivia === "" ? "" : `${trivia}\n`;
}
