/** The version of the record format, as described in docs/decisions/0021. */
export const recordVersion = 3;

export interface CycleRules {
  readonly maxCycle: number;
  readonly compareResults: boolean;
}

export const runKey = "run";
