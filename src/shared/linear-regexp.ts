// Runs regular expressions from users, models or servers. RE2 needs time proportional to the text's length, whatever the pattern.

import { RE2JS } from "re2js";
import { toPlainError } from "./plain-error.ts";

export interface LinearRegExp {
  test(text: string): boolean;
  find(text: string): { readonly start: number; readonly end: number } | undefined;
  /** The number of instructions in the compiled expression. An instruction takes up to about 40 ns per character of text. */
  readonly size: number;
}

/** The maximum number of instructions. Compiling this many takes about 0.1 seconds. */
const maxInstructions = 50_000;

/** The contents of classes such as `\s`, which JavaScript and RE2 define differently. */
const blanks = String.raw`\t-\r \x{A0}\x{1680}\x{2000}-\x{200A}\x{2028}\x{2029}\x{202F}\x{205F}\x{3000}\x{FEFF}`;
const others = String.raw`\x00-\x08\x0E-\x1F!-\x{9F}\x{A1}-\x{167F}\x{1681}-\x{1FFF}\x{200B}-\x{2027}\x{202A}-\x{202E}\x{2030}-\x{205E}\x{2060}-\x{2FFF}\x{3001}-\x{FEFE}\x{FF00}-\x{10FFFF}`;
const lineEnds = String.raw`\n\r\x{2028}\x{2029}`;
const everything = String.raw`\x00-\x{10FFFF}`;

/** One token of a pattern: an escape, the beginning of a group, an empty class, or a character. */
const token =
  /\\u\{([\da-f]+)\}|\\u(d[89ab][\da-f]{2})\\u(d[c-f][\da-f]{2})|\\u([\da-f]{4})|\\c([a-z])|\\([pP])\{(?:\w+=)?(\w+)\}|\\[\s\S]|\(\?<(?![=!])|\[\^\]|\[\]|[\s\S]/giu;

/**
 * Compiles a JavaScript regular expression. The result matches the same text as in JavaScript with the "u" flag. Of the other flags, only
 * "i", "m" and "s" have an effect. Returns undefined if RE2 cannot run the expression because of lookaround, backreferences, more than
 * 1,000 repetitions, or more than 50,000 instructions.
 */
export function compileLinearRegExp(expression: string, flags = ""): LinearRegExp | undefined {
  try {
    if (instructionsOf(expression) > maxInstructions) return undefined;
    const { CASE_INSENSITIVE, MULTILINE, DOTALL } = RE2JS;
    const bits = [...flags].reduce((sum, letter) => sum | ({ i: CASE_INSENSITIVE, m: MULTILINE, s: DOTALL }[letter] ?? 0), 0);
    const compiled = RE2JS.compile(toRe2(expression, flags.includes("s")), bits);
    return {
      test: (text) => compiled.test(text),
      find: (text) => {
        const matcher = compiled.matcher(text);
        return matcher.find() ? { start: matcher.start(), end: matcher.end() } : undefined;
      },
      size: compiled.programSize(),
    };
  } catch {
    return undefined;
  }
}

/** A compiled expression, or the reason why it was refused (`problem`), worded to follow the expression in messages. */
export type WrittenRegExp =
  | { readonly kind: "compiled"; readonly regExp: LinearRegExp }
  | { readonly kind: "refused"; readonly problem: string };

const maxExpressionLength = 500;

export function parseLinearRegExp(expression: string, flags: string): WrittenRegExp {
  const problem = findFlagProblem(flags) ?? findPatternProblem(expression, flags);
  if (problem !== undefined) return { kind: "refused", problem };
  const regExp = compileLinearRegExp(expression, flags);
  if (regExp !== undefined) return { kind: "compiled", regExp };
  return {
    kind: "refused",
    problem: "cannot be run in linear time: remove lookaround and backreferences, and use at most 1,000 repetitions",
  };
}

function findFlagProblem(flags: string): string | undefined {
  const odd = [...flags].find((flag, index) => !"imsu".includes(flag) || flags.indexOf(flag) !== index);
  if (odd === undefined) return undefined;
  return `has the flag ${JSON.stringify(odd)}${"imsu".includes(odd) ? " twice" : "; use only i, m, s and u"}`;
}

/** Explains why JavaScript cannot parse the expression. JavaScript only parses it and never runs it. */
function findPatternProblem(expression: string, flags: string): string | undefined {
  if (expression === "") return "is empty";
  if (expression.length > maxExpressionLength) return `is longer than ${maxExpressionLength} characters`;
  if (!flags.includes("u") && /\\[pPu]\{/.test(expression)) return 'has "\\p{" or "\\u{", which need the flag u';
  try {
    return void new RegExp(expression, flags);
  } catch (error) {
    // Keeps only the reason, which the engine's message puts after the expression and a colon.
    return `cannot be read: ${toPlainError(error).message.replace(/^.*: /s, "")}`;
  }
}

const counted = /\\[\s\S]|\[(?:\\[\s\S]|[^\]\\])*\]|\{(\d+)(?:,(\d*))?\}|[\s\S]/gu;

/** Estimates the number of instructions before compiling, because compiling a large pattern is slow. */
function instructionsOf(expression: string): number {
  const open: number[] = [];
  let total = 0;
  let last = 1;
  for (const [piece, least, most] of expression.matchAll(counted)) {
    if (least !== undefined) total += last * (Math.max(Number(least), Number(most ?? 0), 1) - 1);
    else if (piece === "(") open.push(total);
    else if (piece === ")") last = total - (open.pop() ?? 0);
    else {
      total += 1;
      last = 1;
    }
  }
  return total;
}

function toRe2(expression: string, dotIsAll: boolean): string {
  let isInClass = false;
  return expression.replace(token, (whole: string, ...groups: (string | undefined)[]) => {
    const code = codeOf(groups);
    if (code !== undefined) return `\\x{${code.toString(16)}}`;
    const { 5: property, 6: value } = groups;
    if (property !== undefined) return `\\${property}{${value}}`;
    if (isInClass) {
      isInClass = whole !== "]";
      return inClass[whole] ?? whole;
    }
    isInClass = whole === "[";
    if (whole === "." && dotIsAll) return whole;
    return outside[whole] ?? whole;
  });
}

function codeOf([point, high, low, unit, control]: readonly (string | undefined)[]): number | undefined {
  if (high !== undefined && low !== undefined) return String.fromCharCode(parseInt(high, 16), parseInt(low, 16)).codePointAt(0);
  if (control !== undefined) return control.charCodeAt(0) % 32;
  const hex = point ?? unit;
  return hex === undefined ? undefined : parseInt(hex, 16);
}

const outside: { readonly [token: string]: string | undefined } = {
  ".": `[^${lineEnds}]`,
  "\\s": `[${blanks}]`,
  "\\S": `[${others}]`,
  "\\0": "\\x00",
  "(?<": "(?P<",
  "[^]": `[${everything}]`,
  "[]": `[^${everything}]`,
};

const inClass: { readonly [token: string]: string | undefined } = {
  "[": "\\[",
  "\\s": blanks,
  "\\S": others,
  "\\0": "\\x00",
  "\\b": "\\x08",
};
