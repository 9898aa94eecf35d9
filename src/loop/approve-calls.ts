// The second phase of a batch: asks for each call that is ready, all at once, before any of them runs.

import type { Step } from "../contract/journal.ts";
import type { Json } from "../contract/json.ts";
import type { Approve } from "../contract/policies.ts";
import { LoopError } from "../errors/loop-error.ts";
import { assertNever } from "../kit/assert-never.ts";
import { Deadline } from "../kit/deadline.ts";
import { isThenable } from "../kit/is-thenable.ts";
import { digest, stableJson } from "../kit/stable-json.ts";
import { askApproval, type Decided, toDecision } from "../policies/approval.ts";
import { editCall, type Prepared, type ReadyCall } from "../stages/prepare-call.ts";
import type { AwaitingCall, BatchEntry } from "./batch-entry.ts";
import { recordVerdict } from "./record-verdicts.ts";
import type { Run } from "./run.ts";
import { runStep, runSteps } from "./run-step.ts";
import { numberedKey, stepKey } from "./step-key.ts";

/** What the journal keeps: a decision, or which execution was left without one, and what the tool's schema was then. */
type Answer = Exclude<Decided, { kind: "ask" }> | { readonly kind: "ask"; readonly token: string; readonly schema: string };

/** A decision, or the key of the step that it will be. */
type Found = Exclude<Answer, { kind: "ask" }> | { readonly kind: "waits"; readonly key: string };

/** Asks for every ready call. Refused ones become their outcome; edited ones are validated again; some may have to wait. */
export async function approveCalls(run: Run, prepared: readonly BatchEntry[], approve: Approve): Promise<readonly BatchEntry[]> {
  const asked = prepared.flatMap((entry, index) => (entry.kind === "ready" ? [{ entry, index }] : []));
  const live = new Set<string>();
  const answers = await runSteps(
    asked.map(({ entry, index }) => approvalStep(run, entry, { index, live, approve })),
    run,
  );
  const approved: BatchEntry[] = [...prepared];
  for (const [position, { entry, index }] of asked.entries()) {
    const first = answers[position] ?? { kind: "cancelled" };
    const answer = first.kind === "ask" ? await decideLater(run, entry, { index, live, first }) : first;
    const isLive = live.has(entry.call.callId);
    sendDecision(run, entry, { answer, live: isLive });
    const obeyed = await obey(run, { ready: entry, index }, answer);
    approved[index] = isLive ? toLive(obeyed) : obeyed;
  }
  return approved;
}

/** What is refused now is told as new, however much of its pass was recalled. */
function toLive(obeyed: Prepared | AwaitingCall): BatchEntry {
  return obeyed.kind === "ready" || obeyed.kind === "awaiting" ? obeyed : { kind: "refused", outcome: obeyed };
}

interface Asking {
  readonly index: number;
  /** The calls about which something was decided in this execution. */
  readonly live: Set<string>;
  readonly approve: Approve;
}

function approvalStep(run: Run, entry: ReadyCall, { index, live, approve }: Asking): Step<Answer> {
  const { events, state, options, timeouts, clock, scope, session } = run;
  const { call } = entry;
  const { callId, name, args } = call;
  const { iteration } = state;
  const body = async (): Promise<Answer> => {
    live.add(callId);
    events.send({ type: "approval-asked", runId: events.runId, iteration, callId, name, args });
    const context = { iteration, messages: state.messages, session, context: options.context };
    return toAnswer(run, entry, await askApproval(call, { approve, approvalMs: timeouts.approvalMs, context, clock, scope }));
  };
  return { key: approvalKey(run, entry, index), kind: "approval", input: { callId, name, args }, run: body };
}

function approvalKey({ state }: Run, { call }: ReadyCall, index: number): string {
  return stepKey(state, `approval/${index}/${call.name}`);
}

/** Inside an ordinary tool nothing can wait: the tool's step has to end. */
function toAnswer(run: Run, { definition }: ReadyCall, decided: Decided): Answer {
  if (decided.kind !== "ask") return decided;
  if (run.outer !== undefined && !run.isPart) return { kind: "deny", reason: "Nobody can be asked inside this tool." };
  return { kind: "ask", token: run.token, schema: digest(stableJson(definition.inputSchema)) };
}

interface Later extends Omit<Asking, "approve"> {
  readonly first: Answer;
}

/**
 * What became of a call that nobody could decide about when it was asked for. The execution that asked ends without an answer; a later
 * one takes it from its `decisions`, or asks on. A journal that can wait for days does, and no execution ends.
 */
async function decideLater(run: Run, entry: ReadyCall, { index, live, first }: Later): Promise<Found> {
  const { decisions } = run;
  const { callId, name, args } = entry.call;
  const key = approvalKey(run, entry, index);
  let answer: Answer = first;
  for (let attempt = 1; answer.kind === "ask"; attempt += 1) {
    checkSchema(entry, answer.schema);
    const next = numberedKey(key, attempt);
    if (!(await goesBehind(run, next, answer.token))) return { kind: "waits", key: next };
    const waited = await waitFor(run, `${key}/decision${attempt}`);
    const body = (): Answer => {
      if (run.scope.cause !== undefined) return { kind: "cancelled" };
      live.add(callId);
      return toAnswer(run, entry, waited ?? decisions.take(callId) ?? { kind: "ask" });
    };
    answer = await runStep({ key: next, kind: "approval", input: { callId, name, args }, run: body }, run);
    // Each one, because whoever had it put off may say so again when the run is over.
    decisions.settle(callId, answer.kind === "ask" ? { kind: "ask" } : answer);
  }
  return answer;
}

/** The execution that asked has no answer, unless its journal waits for one; a replay goes as far as its records. */
function goesBehind({ journal, token }: Run, next: string, asked: string): boolean | PromiseLike<boolean> {
  if (journal.replays !== undefined) return journal.replays(next);
  return journal.wait !== undefined || asked !== token;
}

/** What was approved of one tool is not what another one of its name would get. */
function checkSchema({ definition }: ReadyCall, asked: string): void {
  if (digest(stableJson(definition.inputSchema)) === asked) return;
  throw new LoopError("tools-changed", { changed: [definition.name] });
}

/** Waits where the journal can. A run that is ended meanwhile does not go on waiting. */
async function waitFor({ journal, scope, clock }: Run, key: string): Promise<Decided | undefined> {
  if (journal.wait === undefined || journal.replays !== undefined) return undefined;
  const raced = await new Deadline({ limitMs: Number.POSITIVE_INFINITY }, { clock, scope }).race(journal.wait(key));
  switch (raced.kind) {
    case "value":
      return toDecision(raced.value);
    case "thrown":
      throw raced.error;
    case "expired":
    case "cancelled":
      return { kind: "cancelled" };
    default:
      return assertNever(raced);
  }
}

interface Decidable {
  readonly ready: ReadyCall;
  readonly index: number;
}

function obey(run: Run, { ready, index }: Decidable, answer: Found): Prepared | AwaitingCall | Promise<Prepared> {
  const { call } = ready;
  switch (answer.kind) {
    case "approve":
      return ready;
    case "deny":
      return { call, durationMs: 0, kind: "denied", reason: answer.reason };
    case "modify":
      return edit(run, { ready, index }, answer.args);
    case "waits":
      return { kind: "awaiting", call, key: answer.key, isSequential: ready.definition.sequential === true };
    case "cancelled":
      return { call, durationMs: 0, kind: "not-run" };
    default:
      return assertNever(answer);
  }
}

function edit(run: Run, { ready, index }: Decidable, args: Json): Prepared | Promise<Prepared> {
  const edited = editCall(ready, args, run.ports);
  return isThenable(edited)
    ? edited.then((entry) => recordVerdict(run, { entry, place: `${index}/${ready.call.name}/edit` }))
    : edited;
}

function sendDecision({ events, state }: Run, { call }: ReadyCall, { answer, live }: { answer: Found; live: boolean }): void {
  if (answer.kind === "cancelled" || answer.kind === "waits") return;
  const reason = answer.kind === "deny" ? answer.reason : undefined;
  const base = { runId: events.runId, iteration: state.iteration, callId: call.callId, name: call.name };
  events.send({ type: "approval-decided", ...base, decision: answer.kind, reason, replayed: live ? undefined : true });
}
