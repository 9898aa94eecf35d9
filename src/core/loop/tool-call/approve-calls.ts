// The second phase of a batch: asks for each call that is ready, all at once, before any of them runs. A call whose tool changed before it
// could run comes back here.

import type { Step } from "../../types/journal.ts";
import type { Approve } from "../../types/policies.ts";
import type { ToolDefinition } from "../../types/tool.ts";
import { toJson } from "../../utils/json.ts";
import { whenReady } from "../../utils/promises.ts";
import { type ApprovalPorts, askApproval, waitAlways, waitWhereNeeded } from "../../policies/approval.ts";
import { refuseChanged } from "./execute-tool-call.ts";
import { validateCall } from "./prepare-call.ts";
import type { ReadyCall } from "../run/call.ts";
import { eventBase, type Run } from "../run/run.ts";
import { frozenView } from "../state/transcript.ts";
import { findTool } from "../../tools/registry.ts";
import { toShown } from "../../tools/compare-tools.ts";
import { type BatchEntry, createRoom } from "./batch-entry.ts";
import { type RecordedDecision, refuseChangedTools } from "./record-verdicts.ts";
import { runSteps } from "../run/run-step.ts";
import { type Answered, approvalKey, type Placed, settleCall, toRecorded } from "./settle-call.ts";

/** A call that somebody has to decide about, and who. */
interface Asked extends Placed {
  readonly approve: Approve;
  /** Set where nothing more may begin, so that nobody is asked. */
  readonly isBarred?: boolean | undefined;
}

/**
 * Asks for every ready call that somebody has to decide about. Refused ones become their outcome; edited ones are validated again; some
 * may have to wait.
 */
export function approveCalls(run: Run, prepared: readonly BatchEntry[]): readonly BatchEntry[] | Promise<readonly BatchEntry[]> {
  const entries = prepared.map((entry) => markUnasked(run, entry));
  const asked = entries.flatMap((entry, index) => toAsked(run, entry, index));
  return asked.length === 0 ? entries : askAll(run, entries, asked);
}

async function askAll(run: Run, entries: readonly BatchEntry[], asked: readonly Asked[]): Promise<readonly BatchEntry[]> {
  const answers = await askEach(run, asked);
  const byIndex = new Map(asked.map((one, position) => [one.index, { one, answered: answers[position] }]));
  const room = createRoom(run);
  const approved: BatchEntry[] = [];
  for (const [index, entry] of entries.entries()) {
    const { one, answered } = byIndex.get(index) ?? {};
    const settled = one === undefined || answered === undefined ? entry : await settleCall(run, { ...one, room }, answered);
    approved.push(settled);
    room.admit(settled);
  }
  return approved;
}

/** Asks anew about calls that could not run as they were approved, by their tools as they are now. */
export async function approveAgain(run: Run, calls: readonly Placed[], isBarred: boolean): Promise<readonly BatchEntry[]> {
  // Without a policy a call that was asked about once is not let through because its tool stopped asking.
  const asked = calls.map((one): Asked => {
    const otherwise = one.ready.mustAsk === "again" ? waitAlways : waitWhereNeeded;
    return { ...one, approve: run.options.policies?.approve ?? otherwise, isBarred };
  });
  const answers = await askEach(run, asked);
  const entries: BatchEntry[] = [];
  for (const [position, one] of asked.entries()) {
    const answered = answers[position];
    if (answered !== undefined) entries.push(await settleCall(run, one, answered));
  }
  return entries;
}

function askEach(run: Run, asked: readonly Asked[]): readonly Answered[] | PromiseLike<readonly Answered[]> {
  const steps = asked.map((one) => approvalStep(run, one));
  return runSteps(steps, run, (given, live) =>
    given.map((answer, position): Answered => ({ answer, live: live[position] === true })),
  );
}

/** A policy decides about all calls. Without one only those count whose tool wants a decision. */
function wantsDecision({ options }: Run, { needsApproval = false }: ToolDefinition): boolean {
  return options.policies?.approve !== undefined || needsApproval !== false;
}

/** Whether the call has a question in the journal, or will have. A recorded iteration is asked about as it was then. */
function isAsked(run: Run, { definition, call }: ReadyCall): boolean {
  const { recorded } = run.visibleTools;
  const shown = recorded?.tools.get(call.name);
  if (recorded === undefined || (shown === undefined && !recorded.asks)) return wantsDecision(run, definition);
  return recorded.asks || shown?.needsApproval !== undefined;
}

/** A recorded call about which nobody was asked is asked about if it has yet to run: its own step knows. */
function markUnasked(run: Run, entry: BatchEntry): BatchEntry {
  if (entry.kind !== "ready" || isAsked(run, entry) || !wantsDecision(run, entry.definition)) return entry;
  return { ...entry, mustAsk: "first" };
}

function toAsked(run: Run, entry: BatchEntry, index: number): readonly Asked[] {
  if (entry.kind !== "ready" || !isAsked(run, entry)) return [];
  return [{ ready: entry, index, round: 0, approve: run.options.policies?.approve ?? waitWhereNeeded }];
}

function approvalStep(run: Run, asked: Asked): Step<RecordedDecision> {
  const { callId, name, args } = asked.ready.call;
  const body = (): Promise<RecordedDecision> => (asked.round === 0 ? askFirst(run, asked) : askAnew(run, asked));
  return { key: approvalKey(run, asked), kind: "approval", input: { callId, name, args }, run: body };
}

/** About a call of a recorded iteration whose tool has changed nobody is asked: it was made for another one. */
async function askFirst(run: Run, asked: Asked): Promise<RecordedDecision> {
  refuseChangedTools(run, [asked.ready]);
  const { unfit } = asked.ready;
  if (unfit?.kind === "invalid-input")
    return { kind: "deny", reason: "The arguments do not fit the schema of the tool any more." };
  if (unfit !== undefined) return { kind: "refused", outcome: unfit };
  return ask(run, asked, asked.ready.definition);
}

async function askAnew(run: Run, asked: Asked): Promise<RecordedDecision> {
  const { call } = asked.ready;
  if (asked.isBarred === true) return { kind: "cancelled" };
  const definition = findTool(run.registry, call.name);
  if (definition === undefined) return { kind: "refused", outcome: refuseChanged(call, run) };
  const { questions } = asked.ready;
  const ready: ReadyCall = { kind: "ready", call, definition, args: toJson(call.args), questions };
  const checked = await validateCall(ready, run.ports);
  if (checked.kind !== "ready") return { kind: "refused", outcome: checked };
  const decided = await ask(run, { ...asked, ready }, definition);
  return decided.kind === "approve" || decided.kind === "modify" ? { ...decided, tool: toShown(definition) } : decided;
}

async function ask(run: Run, { ready, index, approve }: Asked, tool: ToolDefinition): Promise<RecordedDecision> {
  const { events, state, options, timeouts, clock, scope } = run;
  const { session = {} } = options;
  const { call } = ready;
  const { callId, name, args } = call;
  const { iteration, messages } = state;
  events.send({ type: "approval-asked", ...eventBase(run), callId, name, index, args });
  const context = { tool, iteration, messages: frozenView(messages), session, context: options.context };
  const validated = (): ReturnType<ApprovalPorts["validated"]> =>
    whenReady(validateCall({ ...ready, args: toJson(call.args) }, run.ports), (checked) =>
      checked.kind === "ready" ? checked : undefined,
    );
  const decided = await askApproval(call, { approve, approvalMs: timeouts.approvalMs, context, validated, clock, scope });
  const { questions } = ready;
  const earlier = questions === undefined ? {} : { earlier: questions };
  return decided.kind === "ask" ? toRecorded(run, decided, { tool: toShown(tool), ...earlier }) : decided;
}
