// The context object that a tool gets as its second argument. A class with getters, so that only the values that the tool uses
// are built.

import type { Json } from "../../types/json.ts";
import type { Session } from "../../types/common.ts";
import type { Message } from "../../types/message.ts";
import type { StreamResult } from "../../types/provider.ts";
import type { ToolBudget, ToolDefinition } from "../../types/tool.ts";
import type { NestedLoopOptions, QuestionFields, ToolContext, LoopOptions } from "../../types/loop-options.ts";
import type { ToolCall, NestedSpending, ToolQuestion } from "../../types/tool-outcome.ts";
import { frozenView } from "../state/transcript.ts";
import { type Level, levelKey, noteLevel } from "../run/meter.ts";
import type { ControlClaim, Run, NestedRun, Nesting, StartedRun } from "../run/run.ts";
import { callKey } from "../state/step-key.ts";
import type { CallEvent, LoopEventType } from "../../types/loop-event.ts";
import type { LoopResult } from "../../types/loop-result.ts";
import type { OutsideResult } from "../../types/policies.ts";
import { type Asked, answerQuestion, type CallQuestions, checkAnswerOf, readQuestion } from "../run/decisions.ts";
import { Deadline, type Raced } from "../../cancellation/deadline.ts";
import { CancelScope } from "../../cancellation/cancel-scope.ts";
import { findableKey } from "../../tools/registry.ts";
import { deferred, deferredToPage, toEmittedPart } from "../../tools/to-outcome.ts";
import { addSpending, noUsage } from "../../utils/count-usage.ts";

/** The maximum number of answers to one question. Without it, a program that gives a wrong answer at once would go on forever. */
const mostAnswers = 20;

export class CallContext implements ToolContext {
  readonly callId: string;
  readonly name: string;
  readonly iteration: number;
  readonly #run: Run;
  readonly #deadline: Deadline;
  /** The position of the call. Stored here, because an abandoned tool may use the context after the run has continued. */
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
    return (options) => (options?.fromPage === true ? deferredToPage : deferred);
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
    const questions = this.#run.ports.questionsOf(this.callId);
    return asked.wait ? this.#waitFor(asked, questions) : answerQuestion(questions, asked);
  }

  /** Waits in this process. If an answer does not fit the schema, asks again. */
  async #waitFor({ schema, question, fromPage }: Asked, questions: CallQuestions): Promise<unknown> {
    let asked = question;
    for (let round = 0; round < mostAnswers; round += 1) {
      const answer = await this.#hold(asked, fromPage, questions);
      const checked = await checkAnswerOf(schema, answer);
      if (!("issues" in checked)) return checked.value;
      asked = { ...question, issues: checked.issues };
    }
    throw new Error(`None of ${mostAnswers} answers fits the schema of the question.`);
  }

  #hold(question: ToolQuestion, fromPage: boolean, questions: CallQuestions): Promise<OutsideResult> {
    const { callId, name, iteration } = this;
    const { path, token, events, ports } = this.#run;
    const controls = controlsOf(this.#run);
    if (controls.length === 0) throw new Error('No control can answer the question. Pass the option "control" to the run.');
    questions.count += 1;
    // The token of the execution is part of the id, so that an answer cannot reach a question of a later execution.
    const id = `${path}${callId}#${token.slice(0, 8)}-${questions.count}`;
    const base = { runId: events.runId, iteration, callId, name, index: ports.indexOf(callId), id };
    const { signal } = this.#deadline;
    return new Promise((resolve, reject) => {
      const goOn = this.#deadline.pause();
      const end = (answer: OutsideResult | undefined): void => {
        for (const close of closes) close();
        questions.withdraw.delete(withdraw);
        signal.removeEventListener("abort", withdraw);
        goOn();
        events.send({ type: "question-answered", ...base, answer: answer?.kind ?? "withdrawn" });
        if (answer === undefined) reject(new Error("The call has ended, so its question was withdrawn."));
        else resolve(answer);
      };
      const withdraw = (): void => end(undefined);
      const closes = controls.map((control) => control.ask(id, { fromPage, take: end }));
      questions.withdraw.add(withdraw);
      signal.addEventListener("abort", withdraw);
      events.send({ type: "question-asked", ...base, question, ...(fromPage && { fromPage }) });
      if (signal.aborted) withdraw();
    });
  }

  get runToolLoop(): (options: NestedLoopOptions) => Promise<LoopResult> {
    return (options) => {
      const result = this.#nest(options);
      // Avoids an unhandled rejection if the tool does not await the result.
      result.catch(() => {});
      return result;
    };
  }

  async #nest(options: NestedLoopOptions): Promise<LoopResult> {
    const { callId } = this;
    if (this.#deadline.isOver) throw new Error("The tool call has ended, so it cannot start a nested run.");
    const { ports } = this.#run;
    const made = `${this.idempotencyKey}/run${ports.countNested(callId)}`;
    const { run, drive } = startNested({ run: this.#run, callId }, { ...options, runId: runIdOf(options) ?? made });
    const nested = { run, result: drive() };
    ports.addNested(callId, nested);
    this.#deadline.holdWhile(nested.result);
    return nested.result;
  }

  /** Notes that the tool is alive. Returns false if the call is over, or if nothing listens to the event. */
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

/** The controls of a run and its outer runs. Each of them can answer a question. */
function controlsOf(run: Run): readonly ControlClaim[] {
  const controls: ControlClaim[] = [];
  for (let one: Run | undefined = run; one !== undefined; one = one.outer)
    if (one.control !== undefined) controls.push(one.control);
  return controls;
}

/** Untyped tools may call `runToolLoop` without options. */
function runIdOf(options: NestedLoopOptions | undefined): string | undefined {
  return options?.runId;
}

export function startNested(nesting: Nesting, options: NestedLoopOptions): StartedRun {
  const { run: outer } = nesting;
  const { provider, pricing, session, context } = outer.options;
  const given = definedIn(options);
  const { timeouts = {} } = given;
  // A stopped run does not wait longer for its nested runs than for its own tools.
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

/** Removes options with the value undefined, so that they are treated like omitted options. */
function definedIn(options: NestedLoopOptions): Partial<LoopOptions> & Pick<LoopOptions, "messages"> {
  const given = Object.entries(options).filter(([, value]) => value !== undefined);
  return { ...Object.fromEntries(given), messages: options.messages };
}

const nothingSpent: NestedSpending = { usage: noUsage, costUSD: 0, toolCallsExecuted: 0 };

/**
 * When a call has finished, ends those of its nested runs that still run, and adds their usage to `known`. Cancelled runs end
 * immediately. If the tool gave a nested run its own journal, and that journal never responds, the run is abandoned after
 * `timeouts.settleMs`.
 */
export async function endNested(runs: readonly NestedRun[], known: NestedSpending = nothingSpent): Promise<NestedSpending> {
  const ends = await Promise.all(runs.map(endRun));
  return ends.reduce<NestedSpending>(
    (sum, end, index) => (end.kind === "value" ? addSpending(sum, spendingOf(end.value, runs[index]?.run)) : sum),
    known,
  );
}

export function spendingOf({ usage, costUSD, toolCallsExecuted }: LoopResult, run: Run | undefined): NestedSpending {
  const spent = { usage, costUSD, toolCallsExecuted };
  return costUSD === undefined && run !== undefined ? { ...spent, knownCostUSD: run.state.spentUSD } : spent;
}

function endRun({ run, result }: NestedRun): Promise<Raced<LoopResult>> {
  run.scope.cancel({ kind: "abort", reason: new DOMException("The tool call has ended.", "AbortError") });
  const limitMs = Math.max(1, run.timeouts.settleMs);
  return new Deadline({ limitMs }, { clock: run.clock, scope: new CancelScope() }).race(result);
}
