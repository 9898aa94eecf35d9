// The second phase of a batch: asks for each call that is ready, all at once, before any of them runs.

import type { Step } from "../contract/journal.ts";
import type { Approve } from "../contract/policies.ts";
import { assertNever } from "../kit/assert-never.ts";
import { askApproval, type Decided } from "../policies/approval.ts";
import { editCall, type Prepared, type ReadyCall } from "../stages/prepare-call.ts";
import type { Run } from "./run.ts";
import { runSteps } from "./run-step.ts";
import { stepKey } from "./step-key.ts";

/** Asks for every ready call. Refused ones become their outcome; edited ones are validated again. */
export async function approveCalls(run: Run, prepared: readonly Prepared[], approve: Approve): Promise<readonly Prepared[]> {
  const asked = prepared.flatMap((entry, index) => (entry.kind === "ready" ? [{ entry, index }] : []));
  const live = new Set<string>();
  const decisions = await runSteps(
    asked.map(({ entry, index }) => approvalStep(run, entry, { index, live, approve })),
    run,
  );
  const approved = [...prepared];
  for (const [position, { entry, index }] of asked.entries()) {
    const decision = decisions[position] ?? { kind: "cancelled" };
    sendDecision(run, entry, { decision, live: live.has(entry.call.callId) });
    approved[index] = await obey(run, entry, decision);
  }
  return approved;
}

interface Asking {
  readonly index: number;
  readonly live: Set<string>;
  readonly approve: Approve;
}

function approvalStep(run: Run, { call }: ReadyCall, { index, live, approve }: Asking): Step<Decided> {
  const { events, state, options, timeouts, clock, scope, session } = run;
  const { iteration } = state;
  const key = stepKey(state, `approval/${index}/${call.name}`);
  const body = (): Promise<Decided> => {
    live.add(call.callId);
    events.send({
      type: "approval-asked",
      runId: events.runId,
      iteration,
      callId: call.callId,
      name: call.name,
      args: call.args,
    });
    const context = { iteration, messages: state.messages, session, context: options.context };
    return askApproval(call, { approve, approvalMs: timeouts.approvalMs, context, clock, scope });
  };
  return { key, kind: "approval", input: { callId: call.callId, name: call.name, args: call.args }, run: body };
}

function obey({ ports }: Run, entry: ReadyCall, decision: Decided): Prepared | Promise<Prepared> {
  const { call } = entry;
  switch (decision.kind) {
    case "approve":
      return entry;
    case "deny":
      return { call, durationMs: 0, kind: "denied", reason: decision.reason };
    case "modify":
      return editCall(entry, decision.args, ports);
    case "cancelled":
      return { call, durationMs: 0, kind: "not-run" };
    default:
      return assertNever(decision);
  }
}

function sendDecision(
  { events, state }: Run,
  { call }: ReadyCall,
  { decision, live }: { decision: Decided; live: boolean },
): void {
  if (decision.kind === "cancelled") return;
  const reason = decision.kind === "deny" ? decision.reason : undefined;
  const base = { runId: events.runId, iteration: state.iteration, callId: call.callId, name: call.name };
  events.send({ type: "approval-decided", ...base, decision: decision.kind, reason, replayed: live ? undefined : true });
}
