// Shares a run's limits with its nested runs.

import { Meter, type Expected, type NestedStreams, type SharedLimits, type Spending, type SpentLimit } from "../meter.ts";
import type { StreamResult } from "../../types/provider.ts";

type Resume = () => void;

/** Counts a nested run's spending for its outer runs too. */
export class NestedMeter extends Meter {
  /** The meters of the outer runs, innermost first. */
  readonly #outers: readonly Meter[];
  readonly #outer: Meter;

  constructor(limits: SharedLimits, outer: Meter) {
    super(limits);
    this.#outer = outer;
    this.#outers = outer instanceof NestedMeter ? [outer, ...outer.#outers] : [outer];
  }

  override add(spending: Spending): void {
    super.add(spending);
    this.#outer.add(spending);
  }

  override addUsage(answer: Pick<StreamResult, "usage" | "costUSD" | "knownCostUSD">): void {
    super.addUsage(answer);
    for (const meter of this.#outers) meter.newest = this.newest;
  }

  override get tokensLeft(): number {
    return Math.min(super.tokensLeft, this.#outer.tokensLeft);
  }

  override get toolCallsLeft(): number {
    return Math.min(super.toolCallsLeft, this.#outer.toolCallsLeft);
  }

  override get costLeftUSD(): number {
    return Math.min(super.costLeftUSD, this.#outer.costLeftUSD);
  }

  override get maxToolCalls(): number {
    return Math.min(super.maxToolCalls, this.#outer.maxToolCalls);
  }

  override findSpent(costUSD: number, unsettled?: Spending, isFinal?: boolean): SpentLimit {
    return super.findSpent(costUSD, unsettled, isFinal) ?? this.findSpentOutside(costUSD, unsettled);
  }

  /** Returns the limit of an outer run that a stream with this cost would exceed. */
  findSpentOutside(costUSD: number, unsettled?: Spending): SpentLimit {
    return this.#outer.findSpent(costUSD, unsettled);
  }

  /**
   * Counts the expected usage of this run's next stream for its outer runs, until `settle` is called. `expected` is undefined for the first
   * stream.
   */
  begin(expected: Expected | undefined): void {
    for (const meter of this.#outers)
      (meter.streams ??= { expected: new Map(), onSettled: new Set() }).expected.set(this, expected ?? meter.newest);
  }

  settle(): void {
    for (const { streams } of this.#outers)
      if (streams?.expected.delete(this) === true) for (const resume of [...streams.onSettled]) resume();
  }

  /**
   * If this run's next stream could exceed an outer limit only because of streams in progress in other nested runs, returns a function that
   * waits until one of them ends. A run inside a stream in progress never waits, because that stream may be waiting for this run.
   */
  findFull(expected: Expected | undefined): ((resume: Resume) => () => void) | undefined {
    const outers = this.#outers;
    if (outers.some((meter) => outers.some((above) => above.streams?.expected.has(meter)))) return undefined;
    const streams = outers.find((meter) => isFull(meter, expected ?? meter.newest, expected?.costUSD ?? 0))?.streams;
    return streams && ((resume) => onSettled(streams, resume));
  }
}

function isFull(meter: Meter, { costUSD }: Expected, minUSD: number): boolean {
  const expected = [...(meter.streams?.expected.values() ?? [])];
  if (expected.length === 0 || findOwnSpent(meter, minUSD) !== undefined) return false;
  const sum = (field: keyof Expected): number => expected.reduce((total, stream) => total + stream[field], 0);
  return findOwnSpent(meter, costUSD, { tokens: sum("tokens"), costUSD: sum("costUSD") }) !== undefined;
}

/** Returns this run's own limit that the cost would exceed. Ignores the limits of its outer runs. */
function findOwnSpent(meter: Meter, costUSD: number, unsettled?: Spending): SpentLimit {
  return Meter.prototype.findSpent.call(meter, costUSD, unsettled);
}

function onSettled({ onSettled: waiting }: NestedStreams, resume: Resume): () => void {
  waiting.add(resume);
  return () => void waiting.delete(resume);
}
