// Implements the control of a running loop. Several runs can use the same control, one after another.

import { claims, type ControlClaim, type Requested } from "./claims.ts";
import type { LoopControl, StopRequest, ToolContext } from "../types/loop-options.ts";
import type { UserMessage } from "../types/message.ts";
import { LoopError } from "../../shared/errors/loop-error.ts";
import { assertNever, isLiteral, isRecord, sharedMap } from "../../shared/guards.ts";
import type { InsideCall } from "../tools/inside-call.ts";
import { describeValue, quote } from "../../shared/texts.ts";
import { textOrNone } from "../../shared/plain-error.ts";
import type { CancelReason, CancelScope } from "../../shared/cancellation/cancel-scope.ts";
import { isOutsideResult, pageProblem, toRecordedResult } from "../../shared/to-outcome.ts";
import type { OutsideResult } from "../types/middleware-options.ts";
import type { ToolQuestion } from "../types/tool-outcome.ts";
import { toUserMessage as copyMessage } from "../../shared/transcript.ts";
import type { InboxMessage, State } from "../types/middleware.ts";

type Request =
  | { readonly verb: "cancel"; readonly cause: CancelReason }
  | { readonly verb: "steer" | "interrupt"; readonly message: UserMessage }
  | { readonly verb: "drain" };

interface Holder {
  readonly scope: CancelScope;
  /** False if the last `maxInterrupts` runs in a row ended with an interrupt. */
  readonly mayInterrupt: boolean;
  readonly messages: InboxMessage[];
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
 * Creates a control for `runToolLoop` or `streamToolLoop`:
 *
 * - `steer` sends a message before the next iteration.
 * - `interrupt` sends a message and ends a run that has called no tool yet. A new run can answer the original question together
 *   with this message.
 * - `drain` suspends the run between two iterations.
 * - `stop` ends the run, but lets running tools finish within `toolCleanupMs`.
 * - `kill` ends the run without waiting for running tools.
 * - `answer` answers a question that a tool in the run asked with `wait: true`.
 *
 * A kill takes precedence over a stop, and a stop over an interrupt.
 *
 * Each method except `answer` returns "accepted", or "finished" if the run's ending is already decided and no other run is using the
 * control yet. Before the first run, requests are queued. `result.undelivered` contains the messages that the model did not receive.
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
  const questions = new Map<string, OpenQuestion>();
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
    answer: (id, answer) => giveAnswer(questions.get(id), id, answer),
    kill: () => ask({ verb: "cancel", cause: { kind: "kill" } }),
    hasStopRequest: () => isAsked(state.holder?.scope.cause) || state.queued.some(({ verb }) => verb === "cancel"),
    isToolChainActive: () => state.holder?.chainActive === true,
  };
  openQuestions.set(control, questions);
  claims.set(control, (scope, maxInterrupts) => claimControl(state, scope, maxInterrupts));
  return control;
}

function giveAnswer(question: OpenQuestion | undefined, id: string, answer: OutsideResult): "accepted" | "unknown" {
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
 * Checks the argument of `stop`. An event or a signal name such as "SIGINT" is also accepted, so that `stop` can be an event handler.
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
 * Handles a request that arrives after the run's ending was decided. Only a kill still has an effect: it cancels everything that the run is
 * waiting for, such as a slow journal.
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
    expected: 'a non-blank string or a message with the role "user"',
    received: describeValue(message),
  });
}

/** True if the caller requested the cancellation. False for a time limit or a message sent with `interrupt`. */
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
      // A run whose promise was rejected leaves its undelivered messages in `holder.messages`. They go to the next run with this control.
      for (const { verb, message } of holder.messages) state.queued.push({ verb: verb === "keep" ? "interrupt" : verb, message });
    },
  };
}

function readRequests({ messages, drains }: Holder, { look, unsent, answers }: State, token: string): Requested {
  // An earlier execution has already returned its unsent messages to the caller, so only this execution's are read.
  const all = look?.token === token ? [...unsent, ...messages] : messages;
  // An interrupt comes too late once the model has made a call, even if that call did not run.
  const hasCalled = answers.some(({ calls }) => calls.length > 0);
  const found = hasCalled ? undefined : all.find(({ verb }) => verb === "interrupt");
  return {
    drains,
    isSteered: all.some(({ verb }) => verb === "steer"),
    interrupted: found && { status: "follow-up-interrupt", reason: { kind: "interrupted", message: found.message } },
  };
}

interface OpenQuestion {
  readonly fromPage: boolean;
  readonly take: (answer: OutsideResult) => void;
}

/** The open questions of each control, by id. All copies of the package share this map. */
const openQuestions: WeakMap<LoopControl, Map<string, OpenQuestion>> = /* @__PURE__ */ sharedMap("control-questions");

/** The questions that a call has asked in this execution. */
interface CallQuestions {
  count: number;
  /** Functions that each withdraw one open question. */
  readonly open: Set<() => void>;
  /** Withdraws all of the call's questions. */
  readonly withdraw: () => void;
}

const questionsOf: WeakMap<InsideCall, CallQuestions> = /* @__PURE__ */ sharedMap("call-questions");

function createQuestions(call: InsideCall): CallQuestions {
  const open = new Set<() => void>();
  const withdraw = (): void => {
    for (const one of [...open]) one();
  };
  const questions = { count: 0, open, withdraw };
  questionsOf.set(call, questions);
  call.onToolEnd = withdraw;
  return questions;
}

/** The maximum number of open questions per call. Without a limit, a faulty tool might ask one for each row of a large table. */
const maxOpen = 100;

interface HeldQuestion {
  readonly question: ToolQuestion;
  readonly fromPage: boolean;
}

/** Pauses a call, and its time limits, until one of the run's controls answers its tool's question. */
export async function holdQuestion(
  context: Pick<ToolContext, "runId" | "callId" | "name" | "iteration" | "signal">,
  call: InsideCall,
  { question, fromPage }: HeldQuestion,
): Promise<OutsideResult> {
  const { run, deadline } = call;
  const controls = controlsOf(run);
  if (deadline === undefined || controls.length === 0)
    throw new Error('Nothing can answer the question. Pass the option "control" to the run.');
  const questions = questionsOf.get(call) ?? createQuestions(call);
  const { open, withdraw } = questions;
  if (open.size >= maxOpen)
    throw new Error(`The call is already waiting for ${maxOpen} answers. Await one before asking another question.`);
  questions.count += 1;
  const { runId, iteration, callId, name, signal } = context;
  const place = { runId, iteration, callId, name, index: run.places.get(callId) ?? -1 };
  // The id includes this execution's token, so that a late answer cannot reach a later execution's question.
  const id = `${run.path}${callId}#${run.token.slice(0, 8)}-${questions.count}`;
  return new Promise((resolve, reject) => {
    const goOn = deadline.hold(true);
    const end = (answer: OutsideResult | undefined): void => {
      for (const control of controls) control.delete(id);
      open.delete(withdrawOne);
      if (open.size === 0) signal.removeEventListener("abort", withdraw);
      goOn();
      run.events.send({ type: "question-answered", ...place, id, answer: answer?.kind ?? "withdrawn" });
      if (answer === undefined) reject(new Error("The call has ended, so its question was withdrawn."));
      else resolve(answer);
    };
    const withdrawOne = (): void => end(undefined);
    for (const control of controls) control.set(id, { fromPage, take: end });
    // All questions of a call share one abort listener, because Node warns if a signal has more than ten listeners.
    if (open.size === 0) signal.addEventListener("abort", withdraw);
    open.add(withdrawOne);
    run.events.send({ type: "question-asked", ...place, id, question, ...(fromPage && { fromPage }) });
    if (signal.aborted) withdrawOne();
  });
}

type Controlled = Pick<InsideCall["run"], "options" | "outer">;

/** Returns the open questions of the controls of the run and its outer runs. The caller may answer with any of these controls. */
function controlsOf(run: Controlled): readonly Map<string, OpenQuestion>[] {
  const controls: Map<string, OpenQuestion>[] = [];
  for (let one: Controlled | undefined = run; one !== undefined; one = one.outer) {
    const found = one.options.control && openQuestions.get(one.options.control);
    if (found !== undefined) controls.push(found);
  }
  return controls;
}
