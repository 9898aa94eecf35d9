// Evaluates a JSONPath within a limited amount of work. The only file that imports the JSONPath library, besides limit-query.ts.

import { type FilterFunction, FunctionExpressionType, JSONPathEnvironment, type JSONPathNode, type JSONPathQuery } from "json-p3";
import { isRecord, toPlainError } from "../core/entry-kit.ts";
import { parseLinearRegExp } from "../core/utils/linear-regexp.ts";
import { type Charge, createBudget, limitQuery, WorkLimitError } from "./limit-query.ts";

/** More matches than this never fit into one returned text. */
const mostShown = 2_000;

export interface Selection {
  /** The first matches from the requested one on. */
  readonly nodes: readonly Pick<JSONPathNode, "value" | "getPath">[];
  /** The number of all matches that were found. */
  readonly count: number;
  /** False if the work limit ended the search. */
  readonly isWhole: boolean;
}

interface Query {
  readonly path: string;
  readonly startMatch: number;
  /** The nesting depth of the deepest document. */
  readonly mostDepth: number;
}

/** Finds the matches of a path in a parsed document. Throws if the path is invalid. */
export function selectNodes(document: unknown, { path, startMatch, mostDepth }: Query): Selection {
  const query = compile(path, mostDepth);
  const nodes: JSONPathNode[] = [];
  let count = 0;
  const isWhole = runWithin(() => {
    for (const node of query.lazyQuery(document as never)) {
      count += 1;
      if (count >= startMatch && nodes.length < mostShown) nodes.push(node);
    }
  });
  return { nodes, count, isWhole };
}

/** Returns false if the work limit ended the search. */
function runWithin(search: () => void): boolean {
  try {
    search();
    return true;
  } catch (error) {
    // The library spreads lists of nodes, so a filter over a list of more than 100,000 items exceeds the stack.
    if (error instanceof WorkLimitError || error instanceof RangeError) return false;
    throw error;
  }
}

function compile(path: string, mostDepth: number): JSONPathQuery {
  const charge = createBudget();
  const environment = new JSONPathEnvironment({ maxRecursionDepth: mostDepth + 2 });
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
    throw new Error(`The path is not a JSONPath of RFC 9535: ${message}. An example is $.items[?@.price > 10].name`, {
      cause: error,
    });
  }
}

/** Makes `length` charge the keys of an object, which it counts one by one. */
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

/** A step takes as long as about five instructions of a compiled pattern on one character. */
const instructionsPerStep = 5;

/** Compiling one instruction takes as long as about ten steps. */
const stepsToCompile = 10;

/** Replaces a function of the library, which would run patterns in exponential time. */
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
