import type { Journal, LoopState, Message, SettledCall, StepResult, StreamResult } from "../../core/entry-kit.ts";
import { readRecords } from "../../journal/inspect/inspect-journal.ts";
import { rebuildRun } from "../../journal/inspect/rebuild-run.ts";
import {
  findAdded,
  type Past,
  type PastCompaction,
  type PastIteration,
  type PastResult,
  refuseRerun,
  unknownIteration,
} from "./past.ts";

interface DraftIteration {
  streams: StreamResult[];
  settled: readonly SettledCall[] | undefined;
  /** True if the iteration was retried after its calls, so that it has two messages. */
  isSplit: boolean;
}

/**
 * Reads the iterations before `from` from a journal. Rejects like `inspectJournal`, and with LoopError "rerun-refused" if the run
 * cannot be repeated up to there.
 */
export async function readPastOfJournal(source: string | Journal, from: number): Promise<Past> {
  const { records, record } = await readRecords(source);
  if (record === undefined) throw refuseRerun(from, "its journal has no run yet");
  const collector = new PastCollector(from);
  const { state } = rebuildRun(records, record, (step, before) => collector.take(step, before));
  const { transcript, drafts } = collector;
  if (transcript === undefined) {
    const last = state.iteration;
    throw refuseRerun(from, last < 0 ? "it has no iterations yet" : `it has iterations 0 to ${last}. Choose one of these`);
  }
  const iterations = Array.from({ length: from }, (_, number) => toPast(drafts.get(number), number, from));
  const next = collector.next ?? state.streamResults.at(-1);
  return {
    runId: record.runId ?? "",
    iterations,
    compactions: collector.compactions,
    messages: record.messages,
    contextItems: [],
    added: findAdded(iterations, transcript, record.messages.length),
    tools: (next?.visibleTools ?? Object.keys(record.tools)).flatMap((name) => {
      const shown = Object.hasOwn(record.tools, name) ? record.tools[name] : undefined;
      return shown === undefined ? [] : [{ name, description: shown.description, inputSchema: shown.inputSchema }];
    }),
    limits: {},
    provider: next?.provider ?? "",
    model: next?.model ?? "",
  };
}

/** Collects the streams and the settled calls before iteration `from`, and the transcript at its start. */
class PastCollector {
  readonly drafts: Map<number, DraftIteration> = new Map();
  readonly compactions: Map<number, PastCompaction> = new Map();
  transcript: readonly Message[] | undefined;
  next: StreamResult | undefined;
  readonly #from: number;

  constructor(from: number) {
    this.#from = from;
  }

  take(step: StepResult, state: LoopState): void {
    if (this.transcript !== undefined) return;
    if (step.kind === "model") this.#takeStream(step.result, state);
    if (step.kind === "compaction" && state.iteration < this.#from)
      this.compactions.set(state.iteration, { cause: state.lastInbox?.compact ?? "due", answer: step.answer });
    if (step.kind !== "batch") return;
    const draft = this.drafts.get(state.iteration);
    if (draft !== undefined) draft.settled = step.settled;
  }

  #takeStream(result: StreamResult, { iteration, continuation, messages }: LoopState): void {
    const before = this.drafts.get(iteration);
    if (iteration >= this.#from) {
      this.transcript = [...messages];
      this.next = result;
    } else if (continuation === 0) {
      const hasCalls = before?.settled !== undefined && before.settled.length > 0;
      this.drafts.set(iteration, { streams: [result], settled: undefined, isSplit: before?.isSplit === true || hasCalls });
    } else before?.streams.push(result);
  }
}

function toPast(draft: DraftIteration | undefined, iteration: number, from: number): PastIteration {
  if (draft === undefined || draft.isSplit)
    throw unknownIteration(from, { iteration, what: `iteration ${iteration} was continued after its calls` });
  const { streams, settled = [] } = draft;
  const outcomes = settled.map(({ outcome }) => outcome);
  const last = streams.length - 1;
  return {
    results: settled.flatMap(toPastResult),
    streams: streams.map((stream, index) => {
      // These fields are about the journal steps of the calls. The outcomes in `eagerOutcomes` replace them.
      const { refusals: _, lateChecks: __, basis: ___, eagerOutcomes: ____, ...rest } = stream;
      return index === last && outcomes.length > 0 ? { ...rest, eagerOutcomes: outcomes } : rest;
    }),
  };
}

function toPastResult({ textForModel, extraction }: SettledCall, index: number): readonly PastResult[] {
  return textForModel === undefined && extraction === undefined ? [] : [{ index, textForModel, extraction, changes: [] }];
}
