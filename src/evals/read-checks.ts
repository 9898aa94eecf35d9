// Reads the value that an evaluation's `check` function returned or threw.

import { toPlainError } from "../shared/plain-error.ts";
import { redactSecrets, redactText } from "../shared/redact-secrets.ts";
import { describeValue } from "../shared/texts.ts";
import { isLoopError } from "../core/index.ts";
import { isRecord } from "../core/kit.ts";
import type { CheckReport, EvalChecks } from "./evaluation.ts";
import { isJudgeError } from "./judge.ts";

/** The name given to a single check that has no name of its own. */
const only = "check";

/** The maximum length of a reason in a report, in UTF-16 units. */
const longestReason = 4000;

/**
 * Calls `work`, which runs a trial's checks. An error counts as a failed check, because assertions report problems this way. Rejects if
 * the returned checks are invalid or a judge gave no verdict.
 */
export async function readChecks(work: () => EvalChecks | PromiseLike<EvalChecks>): Promise<readonly CheckReport[]> {
  let checks: unknown;
  try {
    checks = await work();
  } catch (error) {
    // The judge failed, or a run inside the check did, so there is no verdict.
    if (isJudgeError(error) || isLoopError(error)) throw error;
    return [{ name: only, pass: false, reason: toPlainError(error).message }];
  }
  if (checks === undefined) return [];
  if (typeof checks === "boolean") return [{ name: only, pass: checks }];
  if (!isRecord(checks)) throw wrongCheck(only, checks);
  const entries = Object.entries(checks);
  if (entries.length === 0)
    throw new TypeError('The function "check" returned an object without checks. Return at least one check, or return nothing.');
  const found = entries.map(([name, given]) => ({ check: readCheck(redactSecrets(name), given), given }));
  const hard = found.filter(({ check }) => isHard(check));
  if (hard.length > 0 && hard.every(({ given }) => isJudged(given)))
    throw new TypeError(
      `Only a judge can fail this trial (${hard.map(({ check: { name } }) => name).join(", ")}). Add a check that needs no judge, omit the judge's "min", or set its "isAlone" to true.`,
    );
  return found.map(({ check }) => check);
}

/** True for a check that can fail its trial. */
export function isHard({ score, min }: CheckReport): boolean {
  return score === undefined || min !== undefined;
}

function isJudged(given: unknown): boolean {
  return isRecord(given) && given["isJudged"] === true;
}

function readCheck(name: string, given: unknown): CheckReport {
  if (typeof given === "boolean") return { name, pass: given };
  if (typeof given === "number") return readScore(name, given);
  if (!isRecord(given)) throw wrongCheck(name, given);
  const { pass, score, min } = given;
  // Removes secrets, because a reason often quotes the model's answer.
  const reason = typeof given["reason"] === "string" ? { reason: redactText(given["reason"], longestReason) } : {};
  if (typeof pass === "boolean") return { name, pass, ...reason };
  if (typeof min === "number" && !(min >= 0 && min <= 1))
    throw new TypeError(`The option "min" of the check "${name}" is ${min}, but must be a score from 0 to 1.`);
  if (typeof score === "number" && (min === undefined || typeof min === "number"))
    return { ...readScore(name, score, min), ...reason };
  throw wrongCheck(name, given);
}

function readScore(name: string, score: number, min?: number): CheckReport {
  if (!(score >= 0 && score <= 1)) throw new TypeError(`The check "${name}" is ${score}, but must be a score from 0 to 1.`);
  return { name, pass: score >= (min ?? 0), score, ...(min !== undefined && { min }) };
}

function wrongCheck(name: string, given: unknown): TypeError {
  return new TypeError(
    `The check "${name}" is ${describeValue(given)}, but must be a boolean, a score from 0 to 1, { pass, reason } or { score, reason, min }.`,
  );
}
