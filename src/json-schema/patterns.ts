import type { Schema } from "@cfworker/json-schema";
import { cutText, isRecord, quote } from "../core/entry-kit.ts";
import { compileLinearRegExp, type LinearRegExp } from "../core/utils/linear-regexp.ts";

export type Patterns = ReadonlyMap<string, LinearRegExp>;

/** The maximum length of all patterns in a schema together, in characters. Compiling may take 50 microseconds per character. */
const mostCharacters = 20_000;

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
    if (length > mostCharacters) return { problem: `has patterns with more than ${mostCharacters} characters in total` };
    if (!isExpression(expression)) return { problem: `has the pattern ${shown}, which is not a valid regular expression` };
    const compiled = compileLinearRegExp(expression);
    if (compiled !== undefined) patterns.set(expression, compiled);
    else if (slowPatterns === "refused") {
      return {
        problem: `has the pattern ${shown}, which cannot run in linear time: remove look-around, back references and more than 1,000 repetitions`,
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

/** True if the text is a valid JavaScript regular expression. */
function isExpression(text: string): boolean {
  try {
    return new RegExp(text, "u").source !== "";
  } catch {
    return false;
  }
}
