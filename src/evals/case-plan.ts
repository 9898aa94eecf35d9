// Counts the trials of one case: how many have begun, how they ended, and whether more are needed.

import type { EvalCase, TrialReport } from "./evaluation.ts";
import { chanceOfPassing } from "./statistics.ts";
import type { KeptTrial } from "./trial-files.ts";

export interface CaseRule {
  /** The maximum number of trials. */
  readonly trials: number;
  readonly passRate: number;
  /**
   * How certain the verdict must be to stop early, from 0.5 to 1. With 1, trials stop only when no remaining result can change the verdict.
   */
  readonly certainty: number;
  /** The kept trials to replay. Undefined for new trials. */
  readonly kept?: readonly KeptTrial[] | undefined;
}

/** The number of extra trials that may run in place of trials that had an error. */
const spareTrials = 2;

export class CasePlan<Case extends EvalCase> {
  readonly item: Case;
  readonly reports: TrialReport[] = [];
  begun = 0;
  readonly #rule: CaseRule;
  readonly #numbers = new Set<number>();
  #active = 0;
  /** The number of errors that would occur again in a new trial. */
  #lasting = 0;

  constructor(item: Case, rule: CaseRule) {
    this.item = item;
    this.#rule = rule;
  }

  get passed(): number {
    return this.#count("passed");
  }

  get failed(): number {
    return this.#count("failed");
  }

  get errors(): number {
    return this.#count("error");
  }

  #count(status: TrialReport["status"]): number {
    return this.reports.reduce((sum, report) => sum + (report.status === status ? 1 : 0), 0);
  }

  /** The total number of trials now expected for the case. */
  get expected(): number {
    return this.isOpen || this.#active > 0 ? Math.max(this.#rule.trials, this.begun) : this.reports.length;
  }

  /** True if the case needs another trial. */
  get isOpen(): boolean {
    const { trials, certainty, kept } = this.#rule;
    if (kept !== undefined) return this.begun < kept.length;
    const judged = this.passed + this.failed;
    if (this.#lasting > 0 && judged === 0) return false;
    const spare = Math.min(spareTrials, this.errors - this.#lasting);
    if (judged + this.#active >= trials || this.begun >= trials + spare) return false;
    return certainty === 1 || this.#verdict(certainty) === undefined;
  }

  /** The case's verdict so far. "undecided" if the remaining trials could still decide it. */
  get status(): "passed" | "failed" | "error" | "undecided" {
    const { certainty } = this.#rule;
    return this.#verdict(certainty) ?? (this.errors > 0 ? "error" : "undecided");
  }

  #verdict(certainty: number): "passed" | "failed" | undefined {
    const { trials, passRate } = this.#rule;
    // Makes no decision before the first trial has passed or failed, because a low `certainty` could otherwise lead to a decision without
    // any result.
    if (this.passed + this.failed === 0) return undefined;
    // Subtracts a rounding error: 0.55 * 100 is a little more than 55 in floating point.
    const needed = Math.ceil(trials * passRate - 1e-9);
    const chance = chanceOfPassing({
      passed: this.passed,
      trials: this.passed + this.failed,
      maxTrials: Math.max(trials, this.passed + this.failed),
      needed,
    });
    if (chance >= Math.min(certainty, 1 - 1e-9)) return "passed";
    return 1 - chance >= Math.min(certainty, 1 - 1e-9) ? "failed" : undefined;
  }

  /** Returns the next trial's number, and the kept trial to replay. */
  begin(): { readonly number: number; readonly kept: KeptTrial | undefined } {
    const kept = this.#rule.kept?.[this.begun];
    this.begun += 1;
    this.#active += 1;
    let number = kept?.number ?? 1;
    while (this.#numbers.has(number)) number += 1;
    this.#numbers.add(number);
    return { number, kept };
  }

  /** Counts the passed and failed trials from earlier processes, until there are enough. */
  resume(reports: readonly TrialReport[]): void {
    const judged = reports.filter(({ status }) => status !== "error").sort((one, other) => one.number - other.number);
    const taken = judged.slice(0, this.#rule.trials);
    this.begun += taken.length;
    for (const { number } of taken) this.#numbers.add(number);
    this.reports.push(...taken);
  }

  /** Ends a trial. `report` is undefined if the trial was stopped. `isLasting` is true if another trial would have the same error. */
  end(report: TrialReport | undefined, isLasting: boolean): void {
    this.#active -= 1;
    if (isLasting) this.#lasting += 1;
    if (report !== undefined) this.reports.push(report);
  }
}
