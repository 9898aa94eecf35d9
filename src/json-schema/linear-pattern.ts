// Runs the patterns of schemas in time proportional to the text, whoever wrote them: by RE2, which gives up what takes longer.

import { RE2JS } from "re2js";

/** A pattern that can be searched for. */
export interface LinearPattern {
  test(text: string): boolean;
  /** How many instructions it has. The time for a character may grow with them. */
  readonly size: number;
}

/** Instructions of one pattern: about 0.1 seconds to compile. */
const mostInstructions = 50_000;

/** What JavaScript and RE2 do not agree on: the members of a class, without its brackets. */
const blanks = String.raw`\t-\r \x{A0}\x{1680}\x{2000}-\x{200A}\x{2028}\x{2029}\x{202F}\x{205F}\x{3000}\x{FEFF}`;
const others = String.raw`\x00-\x08\x0E-\x1F!-\x{9F}\x{A1}-\x{167F}\x{1681}-\x{1FFF}\x{200B}-\x{2027}\x{202A}-\x{202E}\x{2030}-\x{205E}\x{2060}-\x{2FFF}\x{3001}-\x{FEFE}\x{FF00}-\x{10FFFF}`;
const lineEnds = String.raw`\n\r\x{2028}\x{2029}`;
const everything = String.raw`\x00-\x{10FFFF}`;

/** One thing in a pattern: an escape, the beginning of a group, of a class that is empty, or a character. */
const token =
  /\\u\{([\da-f]+)\}|\\u(d[89ab][\da-f]{2})\\u(d[c-f][\da-f]{2})|\\u([\da-f]{4})|\\c([a-z])|\\([pP])\{(?:\w+=)?(\w+)\}|\\[\s\S]|\(\?<(?![=!])|\[\^\]|\[\]|[\s\S]/giu;

/** Compiles an expression of JavaScript with the flag "u". Undefined for one that RE2 cannot run: look-around, back references, more. */
export function compileLinearPattern(expression: string): LinearPattern | undefined {
  try {
    if (instructionsOf(expression) > mostInstructions) return undefined;
    const compiled = RE2JS.compile(toRe2(expression));
    return { test: (text) => compiled.matcher(text).find(), size: compiled.programSize() };
  } catch {
    return undefined;
  }
}

/** What counts for the size of a pattern. */
const counted = /\\[\s\S]|\[(?:\\[\s\S]|[^\]\\])*\]|\{(\d+)(?:,(\d*))?\}|[\s\S]/gu;

/** About how many instructions a pattern has, which its repetitions multiply. Compiling one with many would take long. */
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

function toRe2(expression: string): string {
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
    return outside[whole] ?? whole;
  });
}

/** The character that an escape names by its number. */
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
