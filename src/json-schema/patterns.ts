// The patterns of a schema: what is wrong with them, and what runs them.

import type { Schema } from "@cfworker/json-schema";
import { cutText, isRecord, quote } from "../core/entry-kit.ts";
import { compileLinearRegExp, type LinearRegExp } from "../core/utils/linear-regexp.ts";

/** By their expressions. Those that cannot be run in linear time are left out. */
export type Patterns = ReadonlyMap<string, LinearRegExp>;

/** Characters of all patterns of a schema. To compile one may take 50 microseconds a character. */
const mostCharacters = 20_000;

/** Compiles the patterns of a schema, each once; or says what is wrong, which reads on after the schema's name. */
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

/** As other validators make them. */
function isExpression(text: string): boolean {
  try {
    return new RegExp(text, "u").source !== "";
  } catch {
    return false;
  }
}
