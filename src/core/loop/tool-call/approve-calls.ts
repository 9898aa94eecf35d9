// Requests decisions for all ready calls of a batch together, before any of the calls runs. If a tool changes before its call
// runs, `approveAgain` requests another decision.

import type { Step } from "../../types/old-journal.ts";
import type { Approve } from "../../types/policies.ts";
import type { ToolDefinition } from "../../types/tool.ts";
import { toJson } from "../../utils/json.ts";
import { whenReady } from "../../utils/promises.ts";
import { type ApprovalPorts, askApproval, waitAlways, waitWhereNeeded } from "../../policies/approval.ts";
import { refuseChanged } from "./execute-tool-call.ts";
import { validateCall } from "./prepare-call.ts";
import { type ReadyCall, type BatchCall, eventBase, readyOf, type Run } from "../run/run.ts";
import { denials } from "../../tools/outcome-texts.ts";
import { findTool } from "../../tools/registry.ts";
import { toShown } from "../../tools/compare-tools.ts";
import { batchKey, createRoom } from "./batch.ts";
import { type RecordedDecision, refuseChangedTools, toApprovalPorts } from "./record-verdicts.ts";
import { runSteps } from "../run/run-step.ts";
import { type Answered, settleCall, toRecorded } from "./settle-call.ts";

/**
 * Requests a decision for every ready call that needs one. A denied call gets its outcome, an edited call is validated again, and
 * a call without a decision waits.
 */
export function approveCalls(run: Run, calls: readonly BatchCall[]): void | Promise<void> {
  for (const one of calls) markUnasked(run, one);
  const asked = calls.filter((one) => isAsked(run, one));
  return asked.length === 0 ? undefined : askAll(run, calls, asked);
}

async function askAll(run: Run, calls: readonly BatchCall[], asked: readonly BatchCall[]): Promise<void> {
  const answers = await askEach(run, asked);
  const room = createRoom(run);
  const isOver = [...answers.values()].some(({ answer }) => answer.kind === "deny" && answer.guardrail?.endsRun === true);
  for (const one of calls) {
    one.isBarred ||= isOver;
    const answered = answers.get(one);
    if (answered !== undefined) await settleCall(run, one, { ...answered, room });
    room.admit(one);
  }
  // `isOver` is true only if one of the first answers has ended the run. During `settleCall`, a guardrail may also have ended the
  // run by refusing edited arguments.
  const isEnded = calls.some(({ outcome }) => outcome?.kind === "denied" && outcome.guardrail?.endsRun === true);
  for (const one of calls) one.isBarred ||= isEnded;
}

export async function approveAgain(run: Run, calls: readonly BatchCall[], isBarred: boolean): Promise<void> {
  for (const one of calls) {
    one.isOpen = false;
    one.awaitsTurn = false;
    one.hasBegun = false;
    one.isBarred ||= isBarred;
    one.round += 1;
  }
  const answers = await askEach(run, calls);
  for (const [one, answered] of answers) await settleCall(run, one, answered);
}

function askEach(run: Run, asked: readonly BatchCall[]): Promise<ReadonlyMap<BatchCall, Answered>> {
  const steps = asked.map((one) => approvalStep(run, one));
  const answers = runSteps(steps, run, (given, live) =>
    given.map((answer, position): Answered => ({ answer, live: live[position] === true })),
  );
  return Promise.resolve(answers).then((all) => new Map(asked.map((one, position) => [one, all[position] as Answered])));
}

function wantsDecision({ options }: Run, { needsApproval = false }: ToolDefinition): boolean {
  return options.policies?.approve !== undefined || needsApproval !== false;
}

/**
 * True if the journal contains a decision about the call, or if a decision will be requested. For a recorded call, the record
 * decides, even if the policy or the tool has changed.
 */
function isAsked(run: Run, { call, ready, outcome }: BatchCall): boolean {
  if (ready === undefined || outcome !== undefined) return false;
  const { recorded } = run.visibleTools;
  const shown = recorded?.tools.get(call.name);
  if (recorded === undefined || (shown === undefined && !recorded.asks)) return wantsDecision(run, ready.definition);
  return recorded.asks || shown?.needsApproval !== undefined;
}

/**
 * Marks a recorded call that needed no decision when it was recorded, but needs one now. If the call has not run yet, the step
 * of the call then returns without running the tool, and the decision is requested.
 */
function markUnasked(run: Run, one: BatchCall): void {
  const { ready, outcome } = one;
  if (ready === undefined || outcome !== undefined || isAsked(run, one)) return;
  if (wantsDecision(run, ready.definition)) one.mustAsk = "first";
}

/**
 * Without `policies.approve`, a call whose approved tool has changed waits for another decision, even if the changed tool
 * requires no decision.
 */
function approveOf({ options }: Run, { round, mustAsk }: BatchCall): Approve {
  return options.policies?.approve ?? (round > 0 && mustAsk === "again" ? waitAlways : waitWhereNeeded);
}

function approvalStep(run: Run, one: BatchCall): Step<RecordedDecision> {
  const { callId, name, args } = one.call;
  const body = (): Promise<RecordedDecision> => (one.round === 0 ? askFirst(run, one) : askAnew(run, one));
  return { key: batchKey(run, "approval", one), kind: "approval", input: { callId, name, args }, run: body };
}

/**
 * Requests the first decision about a call. Throws LoopError "tools-changed" if the call is recorded and its tool has changed
 * since, because the model made the call for the old tool.
 */
async function askFirst(run: Run, one: BatchCall): Promise<RecordedDecision> {
  refuseChangedTools(run, [one]);
  const ready = readyOf(one);
  const { unfit } = ready;
  if (unfit?.kind === "invalid-input") return { kind: "deny", reason: denials.changedSchema };
  if (unfit !== undefined) return { kind: "refused", outcome: unfit };
  return ask(run, one, ready);
}

async function askAnew(run: Run, one: BatchCall): Promise<RecordedDecision> {
  const { call } = one;
  // No further call may begin, so no decision is requested.
  if (one.isBarred) return { kind: "cancelled" };
  const definition = findTool(run.registry, call.name);
  if (definition === undefined) return { kind: "refused", outcome: refuseChanged(call, run.ports) };
  const ready: ReadyCall = { kind: "ready", call, definition, args: toJson(call.args) };
  const checked = await validateCall(ready, run.ports);
  if (checked.kind !== "ready") return { kind: "refused", outcome: checked };
  const decided = await ask(run, one, ready);
  return decided.kind === "approve" || decided.kind === "modify" ? { ...decided, tool: toShown(definition) } : decided;
}

async function ask(run: Run, one: BatchCall, ready: ReadyCall): Promise<RecordedDecision> {
  const { call, definition: tool } = ready;
  const { callId, name, args } = call;
  run.events.send({ type: "approval-asked", ...eventBase(run), callId, name, index: one.index, args });
  const validated = (): ReturnType<ApprovalPorts["validated"]> =>
    whenReady(validateCall({ ...ready, args: toJson(args) }, run.ports), (checked) =>
      checked.kind === "ready" ? checked : undefined,
    );
  const decided = await askApproval(call, toApprovalPorts(run, tool, { approve: approveOf(run, one), validated }));
  const earlier = one.requests === 0 ? {} : { earlier: one.requests };
  return decided.kind === "ask" ? toRecorded(run, decided, { tool: toShown(tool), ...earlier }) : decided;
}
