// Waits for a person's decision about a call, and applies it. `approve` adds a policy that may decide instead.

import type { Json, PlainError } from "../types/common.ts";
import type { ApprovalDecision } from "../types/middleware-options.ts";
import type { ToolDefinition } from "../types/tool.ts";
import type { CallRecorder, Outcome } from "../types/middleware.ts";
import { LoopError } from "../../shared/errors/loop-error.ts";
import { isRecord } from "../../shared/guards.ts";
import { digest, stableJson, toJson } from "../../shared/json.ts";
import { textOrNone } from "../../shared/plain-error.ts";
import { toShown } from "../tools/registry.ts";
import { type Deciding, needsApproval } from "./needs-approval.ts";

/**
 * Obtains a decision about a call to a tool with `needsApproval`. A decision from an earlier execution counts even if its policy is gone.
 */
export function decideIfNeeded(given: Deciding, ask?: (tool: ToolDefinition) => Promise<Decided>): Promise<Outcome> {
  const { call, next, at } = given;
  const { tool } = at;
  if (tool === undefined) return next(call);
  const decide = (): Promise<Outcome> => decideCall({ ...given, tool }, ask && (() => ask(tool)));
  const { earlier } = at;
  if (needsApproval(tool) || earlier?.wasAsked === true) return decide();
  const recorded = earlier?.isRecorded(stepOf(earlier, tool));
  return recorded === undefined ? next(call) : recorded.then((isDecided) => (isDecided ? decide() : next(call)));
}

interface Asking extends Deciding {
  readonly tool: ToolDefinition;
}

function stepOf(earlier: CallRecorder["earlier"], tool: ToolDefinition): string {
  return earlier?.isChanged === true ? `decision about ${digest(stableJson(toShown(tool)))}` : "decision";
}

export type Decided = ApprovalDecision | { readonly kind: "failed"; readonly error: PlainError };

/** Decides about a call. `ask` returns a policy's decision, which is recorded. By default, a person decides. */
export async function decideCall(asking: Asking, ask?: () => Promise<Decided>): Promise<Outcome> {
  const { call, tool, next, at } = asking;
  const { earlier } = at;
  const step = stepOf(earlier, tool);
  // An earlier execution ran this call without asking for approval, so approval is not requested now.
  if (earlier?.isOver === true && (await earlier.isRecorded(step)) !== true) return next(call);
  const first = await at.step<Decided>(step, () => {
    at.emit("approval-asked", { args: call.args });
    return ask?.() ?? ({ kind: "ask" } as const);
  });
  let asked: string | undefined;
  const decided = first?.kind === "ask" ? toDecision(await waitForPerson(asking, (id) => (asked = id))) : first;
  // A saved journal can be edited, so the recorded decision is checked.
  if (!isDecision(decided)) throw new LoopError("journal-damaged", { key: "approve/decision", problem: "has no decision" });
  sendDecision(at, decided, asked);
  const facts = { call, durationMs: 0 };
  switch (decided.kind) {
    case "approve":
      return next(call);
    case "modify":
      return next({ ...call, args: decided.args });
    case "deny":
      return { ...facts, kind: "denied", reason: decided.reason };
    case "failed":
      return { ...facts, kind: "approval-failed", error: decided.error };
  }
}

/** Returns the person's answer, which a later execution has. Denies a call whose run cannot wait. */
async function waitForPerson({ call: { name, args }, tool, at }: Asking, answered: (id: string) => void): Promise<unknown> {
  if (!at.mayWait) return { kind: "deny", reason: "This call cannot request a decision." } satisfies ApprovalDecision;
  // The decision is about the tool as it was shown, so the facts include it. If the tool changes, the person is asked again.
  const facts = { name, args, tool: toShown(tool) as unknown as Json };
  return at.wait("approval", facts, { answered });
}

type Final = Exclude<Decided, { kind: "ask" }>;

const decisions: ReadonlySet<unknown> = new Set<Final["kind"]>(["approve", "modify", "deny", "failed"]);

function isDecision(decided: Decided | undefined): decided is Final {
  return decisions.has(decided?.kind);
}

/** Sends the event about a decision. `waitId` is the wait's id, if a person decided. */
export function sendDecision(at: Pick<CallRecorder, "emit">, decided: Final, waitId?: string): void {
  const { kind, ...fields } = decided;
  // Keeps only the last part of the id, because the event's path contains the ids of the outer calls.
  const asked = waitId === undefined ? {} : { question: waitId.slice(waitId.lastIndexOf("/") + 1) };
  at.emit("approval-decided", { ...asked, decision: kind, ...fields });
}

/** Copies the known fields, so that the journal receives JSON data. An invalid decision denies the call. */
export function toDecision(answer: unknown): ApprovalDecision {
  const { kind, reason, args, by }: { readonly [field: string]: unknown } = isRecord(answer) ? answer : {};
  const decider = typeof by === "string" ? { by } : {};
  if (kind === "ask") return { kind };
  if (kind === "approve") return { kind, ...decider };
  if (kind === "modify" && args !== undefined) return { kind, args: toJson(args) satisfies Json, ...decider };
  if (kind === "deny") return { kind, reason: textOrNone(reason), ...decider };
  return { kind: "deny", reason: "The approval returned no valid decision." };
}
