// Selects values from a JSON text with a JSONPath. Both come from models, tools and servers, so the size of the document, the work
// of the query and the size of the returned text are limited.

import { type FilterFunction, FunctionExpressionType, JSONPathEnvironment, type JSONPathNode, type JSONPathQuery } from "json-p3";
import { cutText, isRecord, toPlainError } from "../core/entry-kit.ts";
import { parseLinearRegExp } from "../core/utils/linear-regexp.ts";
import { Answer } from "./answer.ts";
import { briefJson } from "./brief-json.ts";
import { type Charge, createBudget, limitQuery, WorkLimitError } from "./limit-query.ts";
import { mostDepth, parseDocument } from "./parse-document.ts";
import type { ReadRequest } from "./read-request.ts";

type JsonRequest = Extract<ReadRequest, { readonly action: "json" }>;

/** More matches than this never fit into one returned text. */
const mostShown = 2_000;

/** The maximum lengths of a shown path and value in UTF-16 units. A single match can be longer. */
const longest = { path: 250, value: 650, onlyValue: 1_700 };

/** Returns the values that a JSONPath selects, one on each line, with the path of each value. */
export function queryJson(text: string, { path, startMatch }: JsonRequest): string {
  const charge = createBudget();
  const query = compile(path, charge);
  const document = parseDocument(text);
  const found: JSONPathNode[] = [];
  let count = 0;
  const isWhole = runWithin(() => {
    for (const node of query.lazyQuery(document as never)) {
      count += 1;
      if (count >= startMatch && found.length < mostShown) found.push(node);
    }
  });
  const total = isWhole ? String(count) : `at least ${count}`;
  const stopped = isWhole ? "" : " The search stopped because the path needs too much work: use a narrower path.";
  if (count === 0) return isWhole ? "The path matches nothing. The path $ shows how the text begins." : stopped.trim();
  if (found.length === 0) return `The path has ${total} matches, and none from ${startMatch} on.${stopped}`;
  const answer = new Answer();
  const longestValue = count === 1 ? longest.onlyValue : longest.value;
  for (const node of found) if (!answer.add(describeMatch(node, longestValue))) break;
  const next = startMatch + answer.count;
  const more = next <= count ? ` The rest did not fit: continue with start_match ${next}.` : "";
  return answer.under(`Matches ${startMatch} to ${next - 1} of ${total}.${more}${stopped}`);
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

function describeMatch(node: JSONPathNode, longestValue: number): string {
  return `${cutText(node.getPath(), longest.path)}: ${briefJson(node.value, longestValue)}`;
}

function compile(path: string, charge: Charge): JSONPathQuery {
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
