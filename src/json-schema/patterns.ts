// The patterns of a schema: their problems, and their compiled form.

import type { Schema } from "@cfworker/json-schema";
import { cutText, isRecord, quote } from "../core/entry-kit.ts";
import { compileLinearRegExp, type LinearRegExp } from "../core/utils/linear-regexp.ts";

/** Compiled patterns by expression, without those that cannot be run in linear time. */
export type Patterns = ReadonlyMap<string, LinearRegExp>;

/** Most characters of all patterns of a schema. Compiling may take 50 microseconds per character. */
const mostCharacters = 20_000;

/** Compiles the patterns of a schema, each once, or returns a problem that follows the name of the schema. */
export function readPatterns(
  parts: readonly Schema[],
  slowPatterns: "refused" | "not checked",
): Patterns | { readonly problem: string } {
  const patterns = new Map<string, LinearRegExp>();
  const expressions = new Set(parts.flatMap(expressionsOf));
  let length = 0;
  for (const expression of expressions) {
    const shown = quote(cutText(expression, 64));
    length += expression.length;
    if (length > mostCharacters) return { problem: `has patterns of more than ${mostCharacters} characters` };
    if (!isExpression(expression)) return { problem: `has the pattern ${shown}, which is no regular expression` };
    const compiled = compileLinearRegExp(expression);
    if (compiled !== undefined) patterns.set(expression, compiled);
    else if (slowPatterns === "refused") {
      return {
        problem: `has the pattern ${shown}, which cannot be run in linear time: write it without look-around, back references and more than 1,000 repetitions`,
      };
    }
  }
  return patterns;
}

function expressionsOf({ pattern, patternProperties }: Schema): readonly string[] {
  return [
    ...(typeof pattern === "string" ? [pattern] : []),
    ...(isRecord(patternProperties) ? Object.keys(patternProperties) : []),
  ];
}

/** True if an expression is valid in JavaScript, as in other validators. */
function isExpression(text: string): boolean {
  try {
    return new RegExp(text, "u").source !== "";
  } catch {
    return false;
  }
}
