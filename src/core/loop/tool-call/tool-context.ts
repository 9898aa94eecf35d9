// The second argument of a tool. A class with getters, so that only the values that the tool uses are built.

import type { Json, Session } from "../../types/common.ts";
import type { Message } from "../../types/message.ts";
import type { StreamResult } from "../../types/provider.ts";
import type { ToolBudget, ToolDefinition } from "../../types/tool.ts";
import type { NestedLoopOptions, QuestionFields, ToolContext, LoopOptions } from "../../types/loop-options.ts";
import type { ToolCall } from "../../types/tool-outcome.ts";
import { frozenView } from "../state/transcript.ts";
import { type Level, levelKey, noteLevel } from "../run/meter.ts";
import type { ControlClaim, Run, Nesting, StartedRun } from "../run/run.ts";
import { callKey } from "../state/step-key.ts";
import type { CallEvent, EmittedPart, LoopEventType } from "../../types/loop-event.ts";
import type { LoopResult } from "../../types/loop-result.ts";
import { answerQuestion, readQuestion } from "../run/decisions.ts";
import { Deadline } from "../../cancellation/deadline.ts";
import { findableKey, mayRunKey } from "../../tools/registry.ts";
import { type Wave, waveKey } from "../../tools/wave.ts";
import { deferred, deferredToPage } from "../../tools/to-outcome.ts";
import { type Check, checkField, checkFields, type Checks, is, needed } from "../../errors/check-fields.ts";
import { isRecord } from "../../utils/guards.ts";
import { isPlainData, toJson } from "../../utils/json.ts";

export class CallContext implements ToolContext {
  readonly callId: string;
  readonly name: string;
  readonly iteration: number;
  readonly #run: Run;
  readonly #deadline: Deadline;
  /** The retry and the position of the call are stored, because a tool may use the context after the run has continued. */
  readonly #retry: number;
  readonly #index: number;

  static {
    // Lets a nested run find its outer run if this object is passed as the `context` option.
    Object.defineProperty(this.prototype, levelKey, {
      get(this: CallContext): Level {
        return this.#run;
      },
    });
    Object.defineProperty(this.prototype, findableKey, {
      get(this: CallContext): readonly ToolDefinition[] {
        return this.#run.visibleTools.findable;
      },
    });
    Object.defineProperty(this.prototype, waveKey, {
      get(this: CallContext): Wave | undefined {
        return this.#run.ports.waves.get(this.callId);
      },
    });
    Object.defineProperty(this.prototype, mayRunKey, {
      get(this: CallContext): (callId: string) => boolean {
        const { ended, waiting } = this.#run.ports;
        return (callId) => (ended.get(callId) ?? "completed") === "completed" && !waiting.has(callId);
      },
    });
  }

  constructor(run: Run, call: ToolCall, deadline: Deadline) {
    this.callId = call.callId;
    this.name = call.name;
    this.iteration = run.state.iteration;
    this.#run = run;
    this.#deadline = deadline;
    this.#retry = run.state.retry;
    this.#index = run.ports.indexOf(call.callId);
  }

  get runId(): string {
    return this.#run.runId;
  }

  get signal(): AbortSignal {
    const { signal } = this.#deadline;
    noteLevel(signal, this.#run);
    return signal;
  }

  get messages(): readonly Message[] {
    return frozenView(this.#run.state.messages);
  }

  get contextItems(): readonly Json[] {
    return Object.freeze([...this.#run.state.contextItems]);
  }

  get messageIdMap(): unknown {
    return this.#run.options.messageIdMap;
  }

  get provider(): { readonly id: string; readonly model: string } {
    const last: StreamResult | undefined = this.#run.state.streamResults.at(-1);
    const { provider } = this.#run.options;
    return { id: last?.provider ?? provider.id, model: last?.model ?? provider.model };
  }

  get showKillHint(): boolean {
    return this.iteration >= this.#run.bounds.softWarnIteration;
  }

  get suppressProgressNotices(): boolean {
    return this.#run.session.surfaceUserErrors === false;
  }

  get budget(): ToolBudget {
    const { state, bounds, meter, scope, clock } = this.#run;
    return {
      iterations: Math.max(0, bounds.maxIterations - state.countedIterations),
      toolCalls: meter.toolCallsLeft,
      tokens: meter.tokensLeft,
      costUSD: meter.costLeftUSD,
      wallClockMs: scope.leftMs(clock.now()),
    };
  }

  get idempotencyKey(): string {
    const { iteration, name } = this;
    const place = { iteration, retry: this.#retry };
    return `${this.#run.runId}/${callKey(place, "tool", { index: this.#index, name })}`;
  }

  get session(): Session {
    return this.#run.options.session ?? {};
  }

  get context(): unknown {
    return this.#run.options.context;
  }

  get depth(): number {
    return this.#run.depth;
  }

  // These getters return functions, so that tools may destructure the context.
  get heartbeat(): () => void {
    return () => this.#deadline.heartbeat();
  }

  get progress(): (data: unknown) => void {
    return (data) => {
      if (this.#isAlive("tool-progress")) this.#run.events.send({ type: "tool-progress", ...this.#place, data });
    };
  }

  get emit(): ToolContext["emit"] {
    return (given) => {
      const part = toEmittedPart(given);
      if (this.#isAlive("tool-emit")) this.#run.events.send({ type: "tool-emit", ...this.#place, part });
    };
  }

  get defer(): ToolContext["defer"] {
    return (options = {}) => {
      checkFields("defer", options, { fromPage: is.flag });
      return options.fromPage === true ? deferredToPage : deferred;
    };
  }

  get ask(): ToolContext["ask"] {
    const ask = (fields: QuestionFields): Promise<unknown> => {
      const answer = this.#ask(fields);
      // Avoids an unhandled rejection if the tool does not await the answer.
      answer.catch(() => {});
      return answer;
    };
    return ask as ToolContext["ask"];
  }

  async #ask(fields: QuestionFields): Promise<unknown> {
    if (this.#deadline.isOver) throw new Error("The tool call has ended, so it cannot ask a question.");
    const asked = readQuestion(fields);
    const run = this.#run;
    if (!asked.wait) return answerQuestion(run.ports.questionsOf(this.callId), asked);
    const control = findControl(run);
    if (control === undefined) throw new Error('No control can answer the question. Pass the option "control" to the run.');
    return control.waitForAnswer({ run, place: this.#place, deadline: this.#deadline, asked });
  }

  get runToolLoop(): ToolContext["runToolLoop"] {
    const nest = (options: NestedLoopOptions): Promise<LoopResult> => {
      const result = this.#nest(options);
      // Avoids an unhandled rejection if the tool does not await the result.
      result.catch(() => {});
      return result;
    };
    // The cast is safe: the schema and the tools in `options` determine the types of the output and the calls.
    return nest as ToolContext["runToolLoop"];
  }

  async #nest(options: NestedLoopOptions): Promise<LoopResult> {
    const { callId } = this;
    if (this.#deadline.isOver) throw new Error("The tool call has ended, so it cannot start a nested run.");
    const { ports } = this.#run;
    const made = `${this.idempotencyKey}/run${ports.countNested(callId)}`;
    // Untyped tools may call `runToolLoop` without options.
    const given = { ...options };
    const { run, drive } = startNested({ run: this.#run, callId }, { ...given, runId: given.runId ?? made });
    const nested = { run, result: drive() };
    ports.addNested(callId, nested);
    this.#deadline.holdWhile(nested.result);
    return nested.result;
  }

  /** Counts as a heartbeat of the tool. Returns false if the call is over, or if nothing listens to the event. */
  #isAlive(type: LoopEventType): boolean {
    if (this.#deadline.isOver) return false;
    this.#deadline.heartbeat();
    return this.#run.events.wants(type);
  }

  get #place(): CallEvent {
    const { iteration, callId, name } = this;
    return { runId: this.#run.events.runId, iteration, callId, name, index: this.#run.ports.indexOf(callId) };
  }
}

function findControl(run: Run | undefined): ControlClaim | undefined {
  return run?.control ?? (run && findControl(run.outer));
}

export function startNested(nesting: Nesting, options: NestedLoopOptions): StartedRun {
  const { run: outer } = nesting;
  const { provider, pricing, session, context } = outer.options;
  const given = definedIn(options);
  const { timeouts = {} } = given;
  // A stopped run must not wait longer for its nested runs than for its own tools.
  const settleMs = Math.min(timeouts.settleMs ?? outer.timeouts.settleMs, outer.timeouts.settleMs);
  return outer.nest(
    {
      provider,
      pricing,
      clock: outer.clock,
      session,
      context,
      ...given,
      timeouts: { ...outer.options.timeouts, ...timeouts, settleMs },
    },
    nesting,
  );
}

/** An option with the value undefined is treated like an omitted option. */
function definedIn(options: NestedLoopOptions): Partial<LoopOptions> & Pick<LoopOptions, "messages"> {
  const given = Object.entries(options).filter(([, value]) => value !== undefined);
  return { ...Object.fromEntries(given), messages: options.messages };
}

const partType: Check = ['"text" or "data"', (type) => type === "text" || type === "data", undefined, true];

const textPart: Checks<Extract<EmittedPart, { readonly type: "text" }>> = { type: is.any, text: /* @__PURE__ */ needed(is.text) };

const dataPart: Checks<Extract<EmittedPart, { readonly type: "data" }>> = {
  type: is.any,
  name: [
    '1 to 64 letters, digits, "_" or "-"',
    (name) => typeof name === "string" && /^[\w-]{1,64}$/.test(name),
    undefined,
    true,
  ],
  data: ["plain data", isPlainData, undefined, true],
  id: is.text,
};

export function toEmittedPart(given: unknown): EmittedPart {
  if (isRecord(given)) checkField("emit(part).type", given["type"], partType);
  checkFields("emit(part)", given, isRecord(given) && given["type"] === "text" ? textPart : dataPart);
  const part = given as EmittedPart;
  return part.type === "text" ? { ...part } : { ...part, data: toJson(part.data) };
}
