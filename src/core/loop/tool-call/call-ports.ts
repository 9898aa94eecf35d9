// The functions and values that the tool calls of a run need, and the events that each call emits. A call has a start event when its
// tool begins, and an end event. A refused call has only an end event.

import type { Clock, Json, Timeouts } from "../../types/common.ts";
import type { ToolContext, ToolRegistry } from "../../types/loop-options.ts";
import type { ToolDefinition } from "../../types/tool.ts";
import type { NestedSpending, ToolCall, ToolOutcome } from "../../types/tool-outcome.ts";
import type { Deadline } from "../../cancellation/deadline.ts";
import { edges } from "../../utils/edges.ts";
import type { CancelScope } from "../../cancellation/cancel-scope.ts";
import { eventBase, type NestedRun, type Run, type RunCallPorts } from "../run/run.ts";
import { canWait } from "../run/run-step.ts";
import { type CallQuestions, createQuestions } from "../run/decisions.ts";
import { mostListed } from "./prepare-call.ts";
import { findTool } from "../../tools/registry.ts";
import { toPreliminary } from "../../tools/to-outcome.ts";
import { isSameTool } from "../../tools/compare-tools.ts";
import { CallContext } from "./tool-context.ts";
import { freezeDeep } from "../../utils/json.ts";
import { detectContextRestart } from "../restart/context-restart.ts";
import { restartedResult } from "../state/transcript.ts";
import { renderOutcome, wasDispatched } from "../../tools/outcome-texts.ts";
import { LoopError } from "../../errors/loop-error.ts";
import type { Spending } from "../run/meter.ts";
import type { Wave } from "../../tools/wave.ts";

/** The maximum number of hints about similar tool names in one iteration. */
const mostHints = 16;

/**
 * The maximum number of names that the hints of one iteration compare. The limit is checked before each hint, so the first hint
 * is given even if there are more names.
 */
const mostNames = 20_000;

/** The maximum number of tool names that the results of one iteration list. */
const mostListedInAll = 200;

/** The maximum number of malformed calls in one iteration whose results explain the error. */
const mostExplained = 16;

interface HintCounts {
  readonly iteration: number;
  hints: number;
  names: number;
  listed: number;
  explained: number;
}

export class CallPorts implements RunCallPorts {
  readonly #run: Run;
  // These maps are created when they are needed, because most runs do not need them.
  /** The metadata of results, by call id, until `tool-end` is emitted. */
  #metadata: Map<string, unknown> | undefined;
  /** The nested runs of each call, by call id, until the call has ended. */
  #nested: Map<string, NestedRun[]> | undefined;
  #questions: Map<string, CallQuestions> | undefined;
  readonly places: Map<string, number> = new Map();
  readonly ended: Map<string, ToolOutcome["kind"]> = new Map();
  readonly waiting: Set<string> = new Set();
  #waves: Map<string, Wave> | undefined;
  #counts: HintCounts = { iteration: 0, hints: 0, names: 0, listed: 0, explained: 0 };
  readonly registry: ToolRegistry;
  readonly clock: Clock;
  readonly scope: CancelScope;
  readonly timeouts: Timeouts;
  readonly allowed: ReadonlySet<string> | undefined;
  readonly mayDefer: boolean;

  constructor(run: Run) {
    this.#run = run;
    this.registry = run.registry;
    this.clock = run.clock;
    this.scope = run.scope;
    this.timeouts = run.timeouts;
    this.allowed = run.allowedNames;
    this.mayDefer = canWait(run);
  }

  get exposed(): ReadonlyMap<string, ToolDefinition> {
    return this.#run.visibleTools.byName;
  }

  get choice(): Run["toolChoice"] {
    return this.#run.toolChoice;
  }

  get changed(): ReadonlyMap<string, unknown> | undefined {
    return this.#run.visibleTools.recorded?.changes;
  }

  isCurrent(definition: ToolDefinition): boolean {
    const { registered, byName, recorded } = this.#run.visibleTools;
    const { name } = definition;
    // Fast path: usually no tool has changed, so that no comparison is needed.
    if (recorded === undefined && byName.get(name) === definition && this.#isUnchanged(registered)) return true;
    const now = findTool(this.registry, name);
    return now !== undefined && isSameTool(now, definition);
  }

  #isUnchanged(registered: readonly ToolDefinition[]): boolean {
    try {
      return this.registry.definitions() === registered;
    } catch {
      return false;
    }
  }

  get waves(): Map<string, Wave> {
    return (this.#waves ??= new Map());
  }

  contextFor(call: ToolCall, deadline: Deadline): ToolContext {
    // When an attempt of the tool is repeated, the tool asks its questions again, beginning with the first question.
    const questions = this.questionsIn(call);
    if (questions !== undefined) questions.next = 0;
    return new CallContext(this.#run, call, deadline);
  }

  /**
   * Finds the most similar tool name. The number of searches is limited, because each search compares all names, and a model may
   * call hundreds of unknown tools.
   */
  hint(name: string, known: ReadonlyMap<string, ToolDefinition>): string | undefined {
    const counts = this.#countsNow();
    if (counts.hints >= mostHints || counts.names >= mostNames) return undefined;
    counts.hints += 1;
    counts.names += known.size;
    return edges.nearestName?.(name, known.keys());
  }

  /** Only the first malformed calls get an explanation, because removing credentials from the error messages is slow. */
  explain(): boolean {
    const counts = this.#countsNow();
    counts.explained += 1;
    return counts.explained <= mostExplained;
  }

  listable(count: number): number {
    const counts = this.#countsNow();
    if (counts.listed >= mostListedInAll) return 0;
    const most = Math.min(count, mostListed);
    counts.listed += most;
    return most;
  }

  #countsNow(): HintCounts {
    const { iteration } = this.#run.state;
    if (this.#counts.iteration !== iteration) this.#counts = { iteration, hints: 0, names: 0, listed: 0, explained: 0 };
    return this.#counts;
  }

  onMetadata(call: ToolCall, metadata: unknown): void {
    this.#metadata ??= new Map();
    this.#metadata.set(call.callId, metadata);
  }

  onYield({ callId, name }: ToolCall, value: unknown): void {
    const { events } = this.#run;
    const data = events.wants("tool-progress") ? toPreliminary(value) : undefined;
    if (data === undefined) return;
    const index = this.indexOf(callId);
    events.send({ type: "tool-progress", ...eventBase(this.#run), callId, name, index, data, preliminary: true });
  }

  takeMetadata({ callId }: ToolCall): unknown {
    const metadata = this.#metadata?.get(callId);
    this.#metadata?.delete(callId);
    return metadata;
  }

  indexOf(callId: string): number {
    return this.places.get(callId) ?? -1;
  }

  addNested(callId: string, nested: NestedRun): void {
    this.#nested ??= new Map();
    const runs = this.#nested.get(callId);
    if (runs === undefined) this.#nested.set(callId, [nested]);
    else runs.push(nested);
  }

  countNested(callId: string): number {
    return this.#nested?.get(callId)?.length ?? 0;
  }

  takeNested(callId: string): readonly NestedRun[] | undefined {
    const runs = this.#nested?.get(callId);
    this.#nested?.delete(callId);
    return runs;
  }

  questionsOf(callId: string): CallQuestions {
    this.#questions ??= new Map();
    const known = this.#questions.get(callId);
    if (known !== undefined) return known;
    const made = createQuestions();
    this.#questions.set(callId, made);
    return made;
  }

  questionsIn({ callId }: ToolCall): CallQuestions | undefined {
    return this.#questions?.get(callId);
  }

  onLate({ callId, name }: ToolCall, success: boolean): void {
    this.#run.events.send({ type: "late-result", ...eventBase(this.#run), callId, name, index: this.indexOf(callId), success });
  }
}

export function sendToolStart(run: Run, { callId, name, args }: ToolCall, live: boolean): void {
  const { events, ports, runId, state } = run;
  if (!events.wants("tool-start")) return;
  const { iteration } = state;
  // Written out field by field, because every call sends this event and an object spread takes longer.
  const replayed = live ? undefined : true;
  events.send({ type: "tool-start", runId, iteration, callId, name, index: ports.indexOf(callId), args, replayed });
}

export function sendToolEnd(run: Run, outcome: ToolOutcome, live: boolean): void {
  const { events, ports, options } = run;
  const { call, kind, durationMs } = outcome;
  const { callId, name } = call;
  const metadata = ports.takeMetadata(call);
  ports.ended.set(callId, kind);
  if (!events.wants("tool-end")) return;
  const base = eventBase(run, live);
  events.send({
    type: "tool-end",
    ...base,
    callId,
    name,
    index: ports.indexOf(callId),
    outcome: kind,
    result: freezeDeep(resultOf(outcome, options)),
    durationMs,
    metadata,
  });
}

function resultOf(outcome: ToolOutcome, { policies }: Run["options"]): Json {
  return detectContextRestart(outcome, policies?.restarts) === undefined ? renderOutcome(outcome) : restartedResult;
}

/** Throws LoopError "journal-mismatch" if the recorded outcome belongs to another call. */
export function checkRecorded({ callId, name }: ToolCall, { call }: ToolOutcome): void {
  if (call.callId === callId && call.name === name) return;
  throw new LoopError("journal-mismatch", {
    field: "call",
    expected: `${callId} ${name}`,
    received: `${call.callId} ${call.name}`,
  });
}

/** A call whose tool ran again after an answer counts once. */
export function replayCall(run: Run, outcome: ToolOutcome, isAgain: boolean): void {
  sendKnown(run, outcome, false);
  if (!isAgain && wasDispatched(outcome.kind)) run.meter.add({ toolCalls: 1 });
  if (outcome.nested !== undefined) run.meter.add(toSpending(outcome.nested));
}

/** Sends the events of a call that runs no tool now, because its outcome is known. */
export function sendKnown(run: Run, outcome: ToolOutcome, live: boolean): void {
  if (wasDispatched(outcome.kind)) sendToolStart(run, outcome.call, live);
  sendToolEnd(run, outcome, live);
}

export function toSpending({ usage, costUSD, knownCostUSD, toolCallsExecuted }: NestedSpending): Spending {
  const known = costUSD ?? knownCostUSD;
  return { tokens: usage.totalTokens, toolCalls: toolCallsExecuted, costUSD: known, costUnknown: costUSD === undefined };
}
