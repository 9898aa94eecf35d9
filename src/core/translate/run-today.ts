// Translates the options `policies`, `hooks` and `decisions` into middleware and answers, and the result back.

import type { Masking } from "../types/common.ts";
import type { LoopEvent } from "../types/loop-event.ts";
import type { LoopOptions } from "../types/loop-options.ts";
import type { LoopResult } from "../types/loop-result.ts";
import type { WaitingCall } from "../types/tool-outcome.ts";
import type { LoopDetection, LoopDetectionOptions, LoopPolicies, StructuredOutput } from "../types/policies.ts";
import type { ResultProcessor } from "../loop/tool-call/process-results.ts";
import { checkOptions } from "../loop/start/check-options.ts";
import type { Approve } from "../types/policies.ts";
import type { EventQueue } from "../utils/event-queue.ts";
import { approve } from "../middleware/approve.ts";
import { contextRestarts } from "../middleware/context-restarts.ts";
import { deferTools } from "../middleware/deferred-tools.ts";
import { maskWith, type ResultMasking } from "../middleware/mask-results.ts";
import { type AnswerRules, readOutput } from "../middleware/structured-output.ts";
import { collectTools, isToolRegistry } from "../tools/registry.ts";
import { resolveLimits, resolveReserve } from "../loop/run/limits.ts";
import { isRecord } from "../utils/guards.ts";
import { detectLoops } from "../middleware/detect-loops.ts";
import { finalAnswer } from "../middleware/final-answer.ts";
import { forceFirstCall } from "../middleware/forced-choice.ts";
import { gateTools } from "../middleware/gate.ts";
import { onIteration, prepareIteration, stopWhen } from "../middleware/iteration-hooks.ts";
import { preToolText } from "../middleware/pre-tool-text.ts";
import { processResults } from "../middleware/process-results.ts";
import { beginLoop, type BegunLoop } from "../run/run-tool-loop.ts";
import type { SeamOptions } from "../run/run.ts";
import type { Middleware } from "../run/seam.ts";
import { toReason } from "./today-calls.ts";

export function beginToday(given: LoopOptions, queue?: EventQueue<LoopEvent>): BegunLoop {
  const options: unknown = isRecord(given) ? { ...given } : given;
  checkOptions(options);
  const { result, stop } = beginLoop(translate(options), {
    queue,
    toReason,
    convert: (nested) => {
      checkOptions(nested);
      return translate(nested);
    },
  });
  return { result: result.then((end) => toOldResult(end)), stop };
}

function translate(options: LoopOptions): SeamOptions {
  const { policies, hooks: _hooks, decisions, contextItems: _items, ...rest } = options;
  resolveReserve(policies, resolveLimits(options.limits));
  return {
    ...rest,
    middleware: middlewareOf(options),
    ...(policies?.allowToolChange !== undefined && { allowToolChange: policies.allowToolChange.bind(policies) }),
    ...(decisions !== undefined && { answers: decisions as unknown as NonNullable<SeamOptions["answers"]> }),
  };
}

/** The order matters: the first middleware is the outermost. */
function middlewareOf(options: LoopOptions): readonly Middleware[] {
  const { policies = {}, hooks = {} } = options;
  const guard = (policies.guardrails as CheckedApproval | undefined)?.guardCalls(policies.approve);
  const list = [
    guard?.first,
    hooks.onIteration && onIteration(hooks.onIteration.bind(hooks)),
    // The messages and tools that the model gets.
    ...viewsOf(options),
    [policies.stopWhen ?? []].flat().length === 0 && forceFirstCall(),
    hooks.prepareIteration && prepareIteration(hooks.prepareIteration.bind(hooks)),
    deferTools(),
    ...endingsOf(policies),
    // Look at the request as it is sent.
    ...toMiddleware(policies.guardrails),
    ...toMiddleware(policies.promptCache),
    ...callsOf(policies, guard),
  ];
  return list.filter((one): one is Middleware => one !== undefined && one !== false);
}

/** Around calls. Approvals come last before the tool. */
function callsOf({ gate, results, approve: policy }: LoopPolicies, guard: GuardedCalls | undefined) {
  return [
    gate && gateTools(gate),
    results && processResults((results as ResultProcessor).pipeline),
    approve(guard?.approve ?? policy),
    guard?.last,
  ];
}

interface GuardedCalls {
  readonly first: Middleware;
  readonly approve: Approve;
  readonly last: Middleware;
}

/** The checks of calls by `policies.guardrails`. */
interface CheckedApproval {
  guardCalls(policy: Approve | undefined): GuardedCalls | undefined;
}

/** Each sees whether those below it end the run. */
function endingsOf({ output, loopDetection, stopWhen: stop, finalAnswer: final, preToolText: preText }: LoopPolicies) {
  return [
    output && readOutput(output as StructuredOutput & AnswerRules<unknown>),
    loopDetection && detectLoops(toLoopOptions(loopDetection)),
    stop && stopWhen([stop].flat()),
    final !== undefined && final !== false && finalAnswer(final === true ? {} : final),
    preToolText(preText),
  ];
}

function findMasking(tools: LoopOptions["tools"] = []): Masking | undefined {
  const listed = isToolRegistry(tools) ? collectTools(tools, []).definitions() : tools;
  return listed.find(({ masking }) => masking?.kind === "masking")?.masking;
}

/** Messages are changed in this order: masking, filters of handoffs, compaction, context items. */
function viewsOf({ policies = {}, tools, contextItems, limits }: LoopOptions): readonly Middleware[] {
  const masking = (policies.masking ?? findMasking(tools)) as (Masking & ResultMasking) | undefined;
  const views: Middleware[] = masking === undefined ? [] : [maskWith("mask-results", masking)];
  return [
    ...views,
    ...toMiddleware(policies.handoffs),
    ...toMiddleware(policies.compaction),
    contextRestarts({ ...policies.restarts, items: contextItems, maxRestarts: limits?.maxRestarts }),
  ];
}

function toLoopOptions(given: LoopDetection): LoopDetectionOptions {
  const { threshold, action, cycles } = given as unknown as LoopDetectionOptions & { readonly cycles: LoopDetectionOptions };
  return { threshold, action, ...cycles };
}

/** A policy that is middleware. */
interface MiddlewareSource {
  toMiddleware(): Middleware;
}

function toMiddleware(policy: object | undefined): readonly Middleware[] {
  return policy === undefined ? [] : [(policy as MiddlewareSource).toMiddleware()];
}

/** The ids of calls in nested runs are paths. */
function isOwn({ id }: WaitingCall): boolean {
  return !id.includes("/");
}

function toOldResult(result: LoopResult): LoopResult {
  const reason = toReason(result.reason);
  if (reason === result.reason) return result;
  const { journal } = result;
  const old = { ...result, reason, pendingCalls: "calls" in reason ? reason.calls.filter(isOwn) : [] } as LoopResult;
  return Object.defineProperty(old, "journal", { value: journal, enumerable: "toJSON" in journal });
}
