// The control of a running loop. Several runs can use the same control, one after another.

import { type AskingRun, claims, type ControlClaim, type LiveQuestion, type Requested } from "./ports.ts";
import type { LoopControl, StopRequest } from "../types/loop-options.ts";
import type { UserMessage } from "../types/message.ts";
import { LoopError } from "../../shared/errors/loop-error.ts";
import { assertNever, isLiteral, isRecord } from "../../shared/guards.ts";
import { describeValue, quote } from "../../shared/texts.ts";
import { textOrNone } from "../../shared/plain-error.ts";
import type { CancelReason, CancelScope } from "../../shared/cancellation/cancel-scope.ts";
import { isOutsideResult, toRecordedResult } from "../../shared/to-outcome.ts";
import type { OutsideResult } from "../types/policies.ts";
import { checkAnswerOf, createQuestions, pageProblem } from "./decisions.ts";
import type { ToolQuestion } from "../types/tool-outcome.ts";
import { toUserMessage as copyMessage } from "../../shared/check-messages.ts";
import type { InboxMessage, State } from "../types/middleware.ts";

type Request =
  | { readonly verb: "cancel"; readonly cause: CancelReason }
  | { readonly verb: "steer" | "interrupt"; readonly message: UserMessage }
  | { readonly verb: "drain" };

interface Holder {
  readonly scope: CancelScope;
  /** False if `maxInterrupts` runs in a row have already ended with an interrupt. */
  readonly mayInterrupt: boolean;
  readonly messages: InboxMessage[];
  readonly questions: ControlClaim["questions"];
  drains: boolean;
  chainActive: boolean;
  isShut: boolean;
}

interface ControlState {
  holder: Holder | undefined;
  queued: Request[];
  hasRun: boolean;
  interruptsInARow: number;
}

/**
 * Makes a control for `runToolLoop` or `streamToolLoop`:
 *
 * - `steer` sends a message before the next iteration.
 * - `interrupt` sends a message and ends a run that has called no tool yet. A new run can answer the original question together
 *   with this message.
 * - `drain` suspends the run between two iterations.
 * - `stop` ends the run, and lets running tools finish within `settleMs`.
 * - `kill` ends the run without waiting for running tools.
 * - `answer` answers a question that a tool of the run asked with `wait: true`.
 *
 * A kill takes precedence over a stop, and a stop over an interrupt.
 *
 * Each method except `answer` returns "accepted", or "finished" if the ending of the run is already decided and no other run uses the control
 * yet. Before the first run, requests are queued. `result.undelivered` contains the messages that the model did not get.
 *
 * Throws LoopError "invalid-option" for an invalid message, or for a `stop` with fields other than `requester` and `note`. A run
 * throws "already-running" if its control belongs to another live run.
 *
 * @example
 * const control = createLoopControl();
 * const running = runToolLoop({ provider, tools, messages, control });
 * control.steer("In Celsius, please.");
 * control.stop({ requester: "user 7" });
 * const { reason, undelivered } = await running; // { kind: "stopped", requester: "user 7" }, the steered message
 */
export function createLoopControl(): LoopControl {
  const state: ControlState = { holder: undefined, queued: [], hasRun: false, interruptsInARow: 0 };
  const ask = (request: Request): "accepted" | "finished" => {
    const { holder } = state;
    if (holder?.isShut === true) return askShut(holder, request);
    if (holder !== undefined) deliver(holder, request);
    else if (state.hasRun) return "finished";
    else state.queued.push(request);
    return "accepted";
  };
  const control: LoopControl = {
    steer: (message) => ask({ verb: "steer", message: toUserMessage("steer", message) }),
    interrupt: (message) => ask({ verb: "interrupt", message: toUserMessage("interrupt", message) }),
    drain: () => ask({ verb: "drain" }),
    stop: (facts?: StopRequest) => {
      checkStop(facts);
      return ask({
        verb: "cancel",
        cause: { kind: "stop", requester: textOrNone(facts?.requester), note: textOrNone(facts?.note) },
      });
    },
    answer: (id, answer) => giveAnswer(state.holder, id, answer),
    kill: () => ask({ verb: "cancel", cause: { kind: "kill" } }),
    hasStopRequest: () => isAsked(state.holder?.scope.cause) || state.queued.some(({ verb }) => verb === "cancel"),
    isToolChainActive: () => state.holder?.chainActive === true,
  };
  claims.set(control, (scope, maxInterrupts) => claimControl(state, scope, maxInterrupts));
  return control;
}

function giveAnswer(holder: Holder | undefined, id: string, answer: OutsideResult): "accepted" | "unknown" {
  const question = holder?.questions.get(id);
  if (question === undefined) return "unknown";
  const isRefused = !isOutsideResult(answer) || (answer.fromPage === true && !question.fromPage);
  if (isRefused) {
    const problem = isOutsideResult(answer) ? pageProblem : `is ${describeValue(answer)}`;
    throw new LoopError("invalid-decision", { call: id, waitsFor: "result", problem });
  }
  question.take(toRecordedResult(answer));
  return "accepted";
}

/**
 * Checks the argument of `stop`. Also accepts an event or a signal name such as "SIGINT", so that `stop` can be an event handler.
 */
function checkStop(facts: unknown): void {
  if (facts === undefined || facts === null) return;
  const isSignalName = typeof facts === "string" && /^SIG[A-Z0-9]+$/.test(facts);
  if (isSignalName || (typeof facts === "object" && !isLiteral(facts))) return;
  const known = ["requester", "note"];
  const field = isRecord(facts) ? Object.keys(facts).find((key) => !known.includes(key)) : undefined;
  if (isRecord(facts) && field === undefined) return;
  const received = field === undefined ? describeValue(facts) : `an object with ${quote(field)}`;
  throw new LoopError("invalid-option", { option: "stop", expected: "undefined or { requester, note }", received });
}

/**
 * Handles a request that arrives after the ending of the run was decided. Only a kill still has an effect: it cancels everything
 * that the run waits for, such as a slow journal.
 */
function askShut({ scope }: Holder, request: Request): "finished" {
  if (request.verb === "cancel" && request.cause.kind === "kill") scope.cancel(request.cause);
  return "finished";
}

function deliver(holder: Holder, request: Request): void {
  switch (request.verb) {
    case "cancel":
      holder.scope.cancel(request.cause);
      break;
    case "drain":
      holder.drains = true;
      break;
    case "steer":
      holder.messages.push(request);
      break;
    case "interrupt":
      interrupt(holder, request.message);
      break;
    default:
      assertNever(request);
  }
}

/**
 * Ends the run, so that the next run can answer the message. After the first tool call, or after `maxInterrupts` interrupted runs
 * in a row, the run continues instead, and returns the message in `result.undelivered`.
 */
function interrupt(holder: Holder, message: UserMessage): void {
  const interrupts = holder.mayInterrupt && !holder.chainActive;
  holder.messages.push({ verb: interrupts ? "interrupt" : "keep", message });
  if (interrupts) holder.scope.cancel({ kind: "interrupt", message });
}

function toUserMessage(verb: "steer" | "interrupt", message: unknown): UserMessage {
  if (typeof message === "string" && message.trim() !== "") return { role: "user", content: message };
  const copy = copyMessage(message);
  if (copy !== undefined && copy.content !== "") return copy;
  throw new LoopError("invalid-option", {
    option: `control.${verb}`,
    expected: 'a string that is not blank, or a message with the role "user"',
    received: describeValue(message),
  });
}

/** True if the caller requested the cancellation. False for a time limit, and for a message sent with `interrupt`. */
function isAsked(cause: CancelReason | undefined): boolean {
  return cause !== undefined && cause.kind !== "wall-clock" && cause.kind !== "interrupt";
}

function claimControl(state: ControlState, scope: CancelScope, maxInterrupts: number): ControlClaim {
  if (state.holder !== undefined) throw new LoopError("already-running", { what: "control" });
  const mayInterrupt = state.interruptsInARow < maxInterrupts;
  const holder: Holder = {
    scope,
    mayInterrupt,
    messages: [],
    questions: new Map(),
    drains: false,
    chainActive: false,
    isShut: false,
  };
  state.holder = holder;
  state.hasRun = true;
  const { queued } = state;
  state.queued = [];
  for (const request of queued) deliver(holder, request);
  return {
    questions: holder.questions,
    waitForAnswer,
    get messages() {
      return holder.messages;
    },
    takeMessages: (count) => void holder.messages.splice(0, count),
    see: (run, token) => readRequests(holder, run, token),
    startToolChain: () => {
      holder.chainActive = true;
      scope.withdrawInterrupt();
    },
    shut: () => {
      holder.isShut = true;
    },
    release: (ending) => {
      if (state.holder !== holder) return;
      state.holder = undefined;
      state.interruptsInARow = ending === "interrupted" ? state.interruptsInARow + 1 : 0;
      // If the run rejects, `holder.messages` still contains messages. The next run with this control gets these messages.
      for (const { verb, message } of holder.messages) state.queued.push({ verb: verb === "keep" ? "interrupt" : verb, message });
    },
  };
}

function readRequests({ messages, drains }: Holder, { look, unsent, answers }: State, token: string): Requested {
  // An earlier execution has returned its unsent messages to its caller.
  const all = look?.token === token ? [...unsent, ...messages] : messages;
  // After the first call, an interrupt comes too late, even if the call did not run.
  const hasCalled = answers.some(({ calls }) => calls.length > 0);
  const found = hasCalled ? undefined : all.find(({ verb }) => verb === "interrupt");
  return {
    drains,
    isSteered: all.some(({ verb }) => verb === "steer"),
    interrupted: found && { status: "follow-up-interrupt", reason: { kind: "interrupted", message: found.message } },
  };
}

/**
 * The maximum number of answers to one question. Without this limit, a program that always answers wrongly would be asked
 * forever.
 */
const mostAnswers = 20;

async function waitForAnswer(live: LiveQuestion): Promise<unknown> {
  const { question, schema } = live.asked;
  let asked = question;
  for (let round = 0; round < mostAnswers; round += 1) {
    const checked = await checkAnswerOf(schema, await hold(live, asked));
    if (!("issues" in checked)) return checked.value;
    asked = { ...question, issues: checked.issues };
  }
  throw new Error(`None of ${mostAnswers} answers fits the schema of the question.`);
}

/** The maximum number of questions of one call that wait at the same time. A tool may ask one for each row of a large table. */
const maxOpen = 100;

function hold({ run, call, place, deadline, asked: { fromPage } }: LiveQuestion, question: ToolQuestion): Promise<OutsideResult> {
  const { path, token, events } = run;
  const questions = (call.questions ??= createQuestions());
  if (questions.withdraw.size >= maxOpen)
    throw new Error(`The call already waits for ${maxOpen} answers. Await one of them before you ask the next question.`);
  questions.count += 1;
  // The id contains the token of this execution. Otherwise an answer could reach a question of a later execution.
  const id = `${path}${place.callId}#${token.slice(0, 8)}-${questions.count}`;
  const { signal } = deadline;
  const controls = controlsOf(run);
  return new Promise((resolve, reject) => {
    const goOn = deadline.hold(true);
    const end = (answer: OutsideResult | undefined): void => {
      for (const control of controls) control.questions.delete(id);
      questions.withdraw.delete(withdraw);
      if (questions.withdraw.size === 0) signal.removeEventListener("abort", questions.withdrawAll);
      goOn();
      events.send({ type: "question-answered", ...place, id, answer: answer?.kind ?? "withdrawn" });
      if (answer === undefined) reject(new Error("The call has ended, so its question was withdrawn."));
      else resolve(answer);
    };
    const withdraw = (): void => end(undefined);
    for (const control of controls) control.questions.set(id, { fromPage, take: end });
    // All questions of a call share one listener, because Node warns about more than ten listeners.
    if (questions.withdraw.size === 0) signal.addEventListener("abort", questions.withdrawAll);
    questions.withdraw.add(withdraw);
    events.send({ type: "question-asked", ...place, id, question, ...(fromPage && { fromPage }) });
    if (signal.aborted) withdraw();
  });
}

type Controlled = Pick<AskingRun, "control" | "outer">;

/** The controls of the run and its outer runs. The caller can answer the question with any of these controls. */
function controlsOf(run: Controlled): readonly ControlClaim[] {
  const controls: ControlClaim[] = [];
  for (let one: Controlled | undefined = run; one !== undefined; one = one.outer)
    if (one.control !== undefined) controls.push(one.control);
  return controls;
}
