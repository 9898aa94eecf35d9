// Runs the options of before the seam on the seam.

import type { Plain } from "../types/common.ts";
import type { LoopOptions, Tool } from "../types/loop-options.ts";
import type { LoopResult } from "../types/loop-result.ts";
import type { WaitingCall } from "../types/tool-outcome.ts";
import type { Journal } from "../types/journal.ts";
import { memoryJournal } from "../journal/memory-journal.ts";
import { checkOptions } from "../loop/start/check-options.ts";
import { approve } from "../middleware/approve.ts";
import { finalAnswer, onIteration, prepareIteration, stopWhen } from "../middleware/iteration-hooks.ts";
import { runToolLoop as runOnSeam } from "./run-tool-loop.ts";
import type { SeamOptions } from "./run.ts";
import type { Middleware, StepJournal, Wait } from "./seam.ts";

export async function runToolLoop<Output = unknown, T extends Tool = Tool>(
  given: LoopOptions<Output, T>,
): Promise<LoopResult<Plain<Output>, T>> {
  const options: unknown = { ...given };
  checkOptions(options);
  const journal = options.journal ?? memoryJournal();
  const result = await runOnSeam(translate(options, journal));
  return toOldResult(result, journal) as LoopResult<Plain<Output>, T>;
}

export function translate(options: LoopOptions, journal: Journal): SeamOptions {
  const { policies = {}, hooks = {}, decisions, journal: _, ...rest } = options;
  const middleware: Middleware[] = [];
  if (hooks.onIteration !== undefined) middleware.push(onIteration(hooks.onIteration.bind(hooks)));
  if (hooks.prepareIteration !== undefined) middleware.push(prepareIteration(hooks.prepareIteration.bind(hooks)));
  if (policies.stopWhen !== undefined) middleware.push(stopWhen([policies.stopWhen].flat()));
  if (policies.finalAnswer !== undefined && policies.finalAnswer !== false) middleware.push(finalAnswer());
  middleware.push(approve(policies.approve));
  return {
    ...rest,
    middleware,
    journal: toStepJournal(journal),
    ...(decisions !== undefined && { answers: decisions as unknown as NonNullable<SeamOptions["answers"]> }),
  };
}

const known = new WeakMap<Journal, StepJournal>();

function toStepJournal(journal: Journal): StepJournal {
  let made = known.get(journal);
  if (made !== undefined) return made;
  const open = journal.open?.bind(journal);
  made = {
    durable: journal.durable,
    step: (key, body) => journal.step({ key, kind: "tool", input: null, run: body }),
    read: async (key) => (await journal.read?.())?.get(key),
    ...(open !== undefined && { open }),
  };
  known.set(journal, made);
  return made;
}

function toOldResult(result: LoopResult, journal: Journal): LoopResult {
  const reason: unknown = result.reason;
  const waits = typeof reason === "object" && reason !== null && "waits" in reason ? (reason.waits as readonly Wait[]) : undefined;
  const old = Object.defineProperty({ ...result }, "journal", { value: journal, enumerable: "toJSON" in journal });
  if (waits === undefined) return old;
  const calls = waits.map(toWaitingCall);
  const kind = calls.some(({ waitsFor }) => waitsFor === "approval") ? "approval-required" : "result-required";
  return { ...old, journal, reason: { kind, calls }, pendingCalls: calls };
}

function toWaitingCall({ id, what, facts }: Wait): WaitingCall {
  const { name = "", args = null, fromPage } = facts as { readonly name?: string; readonly args?: null; readonly fromPage?: true };
  const callId = id.split("/").at(-1)?.replace(/#\d+$/, "") ?? id;
  return { id, callId, name, args, waitsFor: what === "approval" ? "approval" : "result", ...(fromPage && { fromPage }) };
}
