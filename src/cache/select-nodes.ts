// Evaluates a JSONPath within a work limit, because even a short path can compare every value in a document with every other.
// Only this file imports the JSONPath library.

import {
  type FilterFunction,
  FunctionExpressionType,
  jsonpath,
  JSONPathEnvironment,
  type JSONPathNode,
  type JSONPathQuery,
} from "json-p3";
import { isRecord } from "../core/kit.ts";
import { toPlainError } from "../shared/plain-error.ts";
import { parseLinearRegExp } from "../shared/linear-regexp.ts";

const maxShown = 2_000;

export interface Selection {
  /** At most 2,000 matches, starting with match number `startMatch`. */
  readonly nodes: readonly Pick<JSONPathNode, "value" | "getPath">[];
  /** The total number of matches found, including those before `startMatch`. */
  readonly count: number;
  readonly isWhole: boolean;
}

interface Query {
  readonly path: string;
  readonly startMatch: number;
  readonly maxDepth: number;
}

export function selectNodes(document: unknown, { path, startMatch, maxDepth }: Query): Selection {
  const query = compile(path, maxDepth);
  const nodes: JSONPathNode[] = [];
  let count = 0;
  const isWhole = runWithin(() => {
    for (const node of query.lazyQuery(document as never)) {
      count += 1;
      if (count >= startMatch && nodes.length < maxShown) nodes.push(node);
    }
  });
  return { nodes, count, isWhole };
}

function runWithin(search: () => void): boolean {
  try {
    search();
    return true;
  } catch (error) {
    // A RangeError also means too much work: the library passes nodes as arguments, so a filter over 100,000 items overflows the stack.
    if (error instanceof WorkLimitError || error instanceof RangeError) return false;
    throw error;
  }
}

function compile(path: string, maxDepth: number): JSONPathQuery {
  const charge = createBudget();
  const environment = new JSONPathEnvironment({ maxRecursionDepth: maxDepth + 2 });
  limitLength(environment, charge);
  environment.functionRegister.set("match", linearFunction("match", charge));
  environment.functionRegister.set("search", linearFunction("search", charge));
  const entries = environment.entries.bind(environment);
  environment.entries = (object): ReturnType<typeof entries> => {
    const listed = entries(object);
    charge(listed.length);
    return listed;
  };
  try {
    const query = environment.compile(path);
    limitQuery(query, charge);
    return query;
  } catch (error) {
    const { message } = toPlainError(error);
    throw new Error(`The path is not a valid JSONPath (RFC 9535): ${message}. For example, use $.items[?@.price > 10].name`, {
      cause: error,
    });
  }
}

/** Makes the JSONPath `length` function charge for each key in an object, because it counts the keys one by one. */
function limitLength({ functionRegister }: JSONPathEnvironment, charge: Charge): void {
  const length = functionRegister.get("length");
  if (length === undefined) return;
  const call = (value: unknown): unknown => {
    const counted = length.call(value);
    if (typeof counted === "number" && isRecord(value)) charge(counted);
    return counted;
  };
  functionRegister.set("length", { argTypes: length.argTypes, returnType: length.returnType, call });
}

/** The number of pattern instructions that take as long as one step of a query. */
const instructionsPerStep = 5;

/** The number of steps that compiling one pattern instruction costs. */
const stepsToCompile = 10;

/** Replaces the library function called `name`, which could take exponential time to match a pattern. */
function linearFunction(name: "match" | "search", charge: Charge): FilterFunction {
  const compiled = rememberLast((pattern: string) => {
    const written = parseLinearRegExp(name === "match" ? `^(?:${pattern})$` : pattern, "u");
    if (written.kind === "refused") throw new Error(`The pattern of ${name}() ${written.problem}.`);
    charge(written.regExp.size * stepsToCompile);
    return written.regExp;
  });
  return {
    argTypes: [FunctionExpressionType.ValueType, FunctionExpressionType.ValueType],
    returnType: FunctionExpressionType.LogicalType,
    call: (text: unknown, pattern: unknown) => {
      if (typeof text !== "string" || typeof pattern !== "string") return false;
      const regExp = compiled(pattern);
      charge((text.length * regExp.size) / instructionsPerStep);
      return regExp.test(text);
    },
  };
}

function rememberLast<Result>(make: (key: string) => Result): (key: string) => Result {
  let last: { readonly key: string; readonly made: Result } | undefined;
  return (key) => {
    if (last?.key !== key) last = { key, made: make(key) };
    return last.made;
  };
}

/** Subtracts work from a query's budget. Throws WorkLimitError if the budget is used up. */
type Charge = (steps: number) => void;

class WorkLimitError extends Error {}

/** The work limit for one query. A step takes about 0.2 microseconds. */
const maxSteps = 2_000_000;

function createBudget(): Charge {
  let left = maxSteps;
  return (steps) => {
    left -= steps;
    if (left < 0) throw new WorkLimitError("The path takes too long to evaluate.");
  };
}

/**
 * Replaces methods of a parsed query with methods that charge for their work. The query must then run only once, because its budget
 * is never refilled.
 */
function limitQuery({ segments }: JSONPathQuery, charge: Charge): void {
  for (const selector of segments.flatMap(({ selectors }) => selectors)) {
    const resolve = selector.resolve.bind(selector);
    selector.resolve = (node: JSONPathNode): JSONPathNode[] => {
      charge(costOf(node));
      return resolve(node);
    };
    if (selector instanceof jsonpath.selectors.FilterSelector) limitExpression(selector.expression, charge);
  }
}

/** The number of depth levels that add one step to a node's cost, because the library copies a node's path for each of its children. */
const depthPerStep = 8;

/**
 * Returns the number of steps that a node costs. The children of objects cost nothing here, because `environment.entries` charges for them.
 */
function costOf({ value, location }: JSONPathNode): number {
  return 1 + location.length / depthPerStep + (Array.isArray(value) ? value.length : 0);
}

type Expression = jsonpath.expressions.FilterExpression;

function limitExpression(expression: Expression, charge: Charge): void {
  const { LogicalExpression, PrefixExpression, InfixExpression, FunctionExtension, FilterQuery } = jsonpath.expressions;
  if (expression instanceof LogicalExpression) limitExpression(expression.expression, charge);
  else if (expression instanceof PrefixExpression) limitExpression(expression.right, charge);
  else if (expression instanceof FunctionExtension) for (const each of expression.args) limitExpression(each, charge);
  else if (expression instanceof FilterQuery) limitQuery(expression.path, charge);
  else if (expression instanceof InfixExpression) {
    for (const side of [expression.left, expression.right]) {
      limitExpression(side, charge);
      if (!expression.logical) chargeCompared(side, charge);
    }
  }
}

/** Charges for the size of a compared value, because the library must read two values completely to find that they are equal. */
function chargeCompared(side: Expression, charge: Charge): void {
  const evaluate = side.evaluate.bind(side);
  side.evaluate = (context): unknown => {
    const found = evaluate(context);
    const value = found instanceof jsonpath.JSONPathNodeList ? found.values() : found;
    chargeSize(value, charge);
    return found;
  };
}

const charactersPerStep = 1_000;

function chargeSize(value: unknown, charge: Charge): void {
  charge(1);
  if (typeof value === "string") charge(value.length / charactersPerStep);
  else if (Array.isArray(value)) for (const item of value) chargeSize(item, charge);
  else if (typeof value === "object" && value !== null) for (const item of Object.values(value)) chargeSize(item, charge);
}
