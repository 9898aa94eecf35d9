// Reads the state of a durable run from its records.

import { type Journal, type LoopOptions, type LoopResult, runToolLoop } from "../../core/entry-kit.ts";
import { type JournalInspection, replayJournal } from "../../journal/index.ts";

export interface ReadState {
  readonly inspection: JournalInspection;
  /** Undefined while the run is running. */
  readonly result: LoopResult | undefined;
}

interface Partial {
  readonly messages: LoopResult["messages"];
  readonly text: string;
  readonly usage: LoopResult["usage"];
  readonly costUSD: number | undefined;
  readonly iterations: number;
  readonly toolCallsExecuted: number;
}

export async function readRun(journal: Journal, options: LoopOptions): Promise<ReadState> {
  const facts = {
    runId: options.runId,
    initialMessages: options.messages,
    compaction: undefined,
    agent: undefined,
    handoffs: undefined,
    lastSeenMs: undefined,
    version: undefined,
    lastVersion: undefined,
  } as const;
  const isStarted = (await journal.read("run")) !== undefined;
  const { runId: _runId, ...others } = options;
  const run = runToolLoop({ ...others, journal: { ...replayJournal(journal), durable: false } });
  try {
    const result = await run;
    const pendingCalls = result.pendingCalls.map((call) => ({
      ...call,
      state: `awaiting-${"waitsFor" in call ? String(call.waitsFor) : "approval"}`,
    }));
    const inspection = { ...result, ...facts, pendingCalls } as unknown as JournalInspection;
    return { inspection, result };
  } catch (error) {
    const partial = (error as { details?: { partial?: Partial } }).details?.partial;
    if (partial === undefined) throw error;
    const status = isStarted ? "running" : "not-started";
    const inspection = { ...partial, ...facts, status, reason: undefined, pendingCalls: [], knownCostUSD: partial.costUSD ?? 0 };
    return { inspection: inspection as unknown as JournalInspection, result: undefined };
  }
}
