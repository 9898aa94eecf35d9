// Regular expressions that may come from anybody: they mean what they mean in JavaScript, but cannot make the process hang.

import { toPlainError } from "../plain-error.ts";
import { createCharTest } from "./char-test.ts";
import { compilePattern } from "./compile-pattern.ts";
import { parsePattern } from "./parse-pattern.ts";
import { type ProgramRun, runProgram } from "./run-program.ts";

/** Longest pattern in UTF-16 units. */
const longestPattern = 500;

/** How much of a text is searched, in UTF-16 units. What comes behind is only looked at to tell whether the text goes on. */
const longestText = 4_096;

/** A regular expression whose search takes time in proportion to the text. */
interface LinearRegExp {
  /** The first match within the first 4,096 UTF-16 units of a text, and how many steps finding it took. */
  find(text: string): ProgramRun;
}

/** The expression, or why there is none; `problem` reads on after the expression. */
export type LinearRegExpOrProblem =
  | { readonly kind: "compiled"; readonly regExp: LinearRegExp }
  | { readonly kind: "refused"; readonly problem: string };

/**
 * Compiles a regular expression that is searched for without backtracking: every thread of the pattern is run side by side, so
 * that a text of n characters takes at most n times the size of the program, whatever the pattern. Nothing is thrown.
 *
 * What is found is what JavaScript finds, under the flags i, m, s and u. Groups, named or not, only group: their contents are not
 * told. Refused are back references and look-around, which cannot be had in linear time; escapes that mean nothing; "\p{" and
 * "\u{" without the flag u; other flags; patterns of more than 500 UTF-16 units; groups nested more than 50 deep; and patterns that
 * have more than 500 parts with their bounded repetitions written out, such as `(a{100}){100}`.
 *
 * @example
 * const compiled = compileLinearRegExp("remind(er)?s?", "i");
 * if (compiled.kind === "compiled") compiled.regExp.find("My Reminders").range; // { start: 3, end: 12 }
 */
export function compileLinearRegExp(source: string, flags: string): LinearRegExpOrProblem {
  const problem = findFlagProblem(flags) ?? findSourceProblem(source, flags);
  if (problem !== undefined) return { kind: "refused", problem };
  const parsed = parsePattern(source, flags);
  if (parsed.kind === "refused") return parsed;
  const program = compilePattern(parsed.root);
  if (program === undefined) return { kind: "refused", problem: "repeats too much" };
  const machine = { program, unicode: flags.includes("u"), word: createCharTest("\\w", flags.replace("m", "")) };
  return { kind: "compiled", regExp: { find: (text) => runProgram(machine, text, longestText) } };
}

function findFlagProblem(flags: string): string | undefined {
  const odd = [...flags].find((flag, index) => !"imsu".includes(flag) || flags.indexOf(flag) !== index);
  if (odd === undefined) return undefined;
  return `has the flag ${JSON.stringify(odd)}${"imsu".includes(odd) ? " twice" : ", which is none of i, m, s and u"}`;
}

/** The platform only reads the pattern; it is never asked to run it. */
function findSourceProblem(source: string, flags: string): string | undefined {
  if (source === "") return "is empty";
  if (source.length > longestPattern) return `is longer than ${longestPattern} characters`;
  try {
    return void new RegExp(source, flags);
  } catch (error) {
    // Behind its last colon the message says why; before, it repeats the pattern.
    return `cannot be read: ${toPlainError(error).message.replace(/^.*: /s, "")}`;
  }
}
