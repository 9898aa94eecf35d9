// Limits the work of a JSONPath query. A short path can compare every value of a document with every other value.

import { type JSONPathNode, jsonpath, type JSONPathQuery } from "json-p3";

/** Subtracts work from the budget of a query. Throws if the budget is used up. */
export type Charge = (steps: number) => void;

/** Thrown if a query needs more work than allowed. */
export class WorkLimitError extends Error {}

/** The work limit of one query. A step takes about 0.2 microseconds. */
const mostSteps = 2_000_000;

/** Makes the budget of one query. */
export function createBudget(): Charge {
  let left = mostSteps;
  return (steps) => {
    left -= steps;
    if (left < 0) throw new WorkLimitError("The path needs too much work.");
  };
}

/** Makes each part of a parsed query charge its work. The query can then be used once. */
export function limitQuery({ segments }: JSONPathQuery, charge: Charge): void {
  for (const selector of segments.flatMap(({ selectors }) => selectors)) {
    const resolve = selector.resolve.bind(selector);
    selector.resolve = (node: JSONPathNode): JSONPathNode[] => {
      charge(costOf(node));
      return resolve(node);
    };
    if (selector instanceof jsonpath.selectors.FilterSelector) limitExpression(selector.expression, charge);
  }
}

/** The path to a node is copied for each of its children, so deep nodes cost more. */
const depthPerStep = 8;

/** The children of objects are charged when the query lists them. */
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

/** Charges the size of a compared value, because equal values are compared to their ends. */
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
