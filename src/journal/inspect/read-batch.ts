// What became of the calls of an iteration, from their records.

import { isCallKey, type SettledCall, stepKey } from "../../core/entry-kit.ts";
import type { PendingCall } from "./pending-call.ts";
import { type CallProgress, type CallReading, readCall } from "./read-call.ts";

/** How far a batch has come: `settled` is undefined while calls of it run. */
export interface BatchProgress {
  /** The calls, if all of them are over or wait. */
  readonly settled: readonly SettledCall[] | undefined;
  readonly pending: readonly PendingCall[];
}

/** Reads the batch of the current turn. `isOver` says that the run has gone on after it. */
export function readBatch(reading: CallReading, isOver: boolean): BatchProgress {
  const found = reading.state.turn.calls.map((call, index) => readCall(reading, call, index));
  const pending = found.flatMap((one) => one.pending);
  const has = (stage: CallProgress["stage"]): boolean => found.some((one) => one.stage === stage);
  // With a higher limit a run comes back to calls of a batch that it had gone on after.
  const isOpen = has("begun") || !isOver || (has("waits") && isCallKey(reading.state, reading.records.last ?? ""));
  if (isOpen && (has("begun") || !has("waits"))) return { settled: undefined, pending };
  if (isOpen) return { settled: found.map(({ settled }) => settled), pending };
  return { settled: addResults(reading, found.map(toLast)), pending: [] };
}

/** Every other call of a batch that is over has an outcome on record. */
function toLast({ stage, settled }: CallProgress): SettledCall {
  return stage === "over" ? settled : { outcome: { call: settled.outcome.call, durationMs: 0, kind: "limit" } };
}

type Processed = Pick<SettledCall, "textForModel" | "extraction"> & { readonly index: number };

/** What the pipeline has made of results. */
function addResults({ records, state }: CallReading, settled: readonly SettledCall[]): readonly SettledCall[] {
  const processed = records.find<readonly Processed[]>(stepKey(state, "results")) ?? [];
  const changes = new Map(processed.map(({ index, textForModel, extraction }) => [index, { textForModel, extraction }]));
  return settled.map((call, index) => ({ ...call, ...changes.get(index) }));
}
