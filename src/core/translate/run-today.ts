// Translates the options `policies`, `hooks` and `decisions` into middleware and answers, and the result back.

import type { LoopEvent } from "../types/loop-event.ts";
import type { LoopOptions } from "../types/loop-options.ts";
import type { LoopResult } from "../types/loop-result.ts";
import type { WaitingCall } from "../types/tool-outcome.ts";
import type { LoopPolicies } from "../types/policies.ts";
import { checkOptions } from "../loop/start/check-options.ts";
import type { EventQueue } from "../utils/event-queue.ts";
import { approve } from "../middleware/approve.ts";
import { contextRestarts } from "../middleware/context-restarts.ts";
import { deferTools } from "../middleware/deferred-tools.ts";
import { maskResults } from "../middleware/mask-results.ts";
import { collectTools, isToolRegistry } from "../tools/registry.ts";
import { isRecord } from "../utils/guards.ts";
import { finalAnswer } from "../middleware/final-answer.ts";
import { gateTools } from "../middleware/gate.ts";
import { onIteration, prepareIteration, stopWhen } from "../middleware/iteration-hooks.ts";
import { preToolText } from "../middleware/pre-tool-text.ts";
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
  const { policies, hooks: _hooks, decisions, answers: _answers, contextItems: _items, ...rest } = options;
  const { answers = decisions, allowToolChange = policies?.allowToolChange?.bind(policies) } = options;
  return {
    ...rest,
    middleware: middlewareOf(options),
    ...(allowToolChange !== undefined && { allowToolChange }),
    ...(answers !== undefined && { answers: answers as unknown as NonNullable<SeamOptions["answers"]> }),
  };
}

/** The order matters: the first middleware is the outermost. */
function middlewareOf(options: LoopOptions): readonly Middleware[] {
  const { policies = {}, hooks = {}, middleware = [] } = options;
  const list = (
    [
      hooks.onIteration && onIteration(hooks.onIteration.bind(hooks)),
      // The messages and tools that the model gets.
      ...viewsOf(options),
      hooks.prepareIteration && prepareIteration(hooks.prepareIteration.bind(hooks)),
      deferTools(),
      ...endingsOf(policies),
      // Look at the request as it is sent.
      policies.guardrails,
      policies.promptCache,
      policies.gate && gateTools(policies.gate),
      policies.results,
      policies.approve && approve(policies.approve),
    ] as readonly (Middleware | false | undefined)[]
  ).filter(isSet);
  const given = (middleware as readonly (Middleware | false | undefined)[]).filter(isSet);
  const own = new Set(given.map(({ name }) => name));
  return [...list.filter(({ name }) => !own.has(name)), ...given];
}

function isSet<T>(value: T | false | undefined): value is T {
  return value !== undefined && value !== false;
}

/** Each sees whether those below it end the run. */
function endingsOf({ output, loopDetection, stopWhen: stop, finalAnswer: final, preToolText: preText }: LoopPolicies) {
  return [
    output,
    loopDetection,
    stop && stopWhen(stop),
    final !== undefined && final !== false && finalAnswer(final === true ? {} : final),
    preToolText(preText),
  ];
}

function findMasking(tools: LoopOptions["tools"] = []): Middleware | undefined {
  const listed = isToolRegistry(tools) ? collectTools(tools, []).definitions() : tools;
  const isNeeded = listed.some(({ releasesResults }) => releasesResults === true);
  return isNeeded ? maskResults({ keepIterations: Number.POSITIVE_INFINITY }) : undefined;
}

/** Messages are changed in this order: masking, filters of handoffs, compaction, context items. */
function viewsOf({ policies = {}, tools, contextItems, limits }: LoopOptions): readonly (Middleware | undefined)[] {
  return [
    policies.masking ?? findMasking(tools),
    policies.handoffs,
    policies.compaction,
    contextRestarts({ ...policies.restarts, items: contextItems, maxRestarts: limits?.maxRestarts }),
  ];
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
