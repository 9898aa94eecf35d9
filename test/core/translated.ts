// Runs the options of today's loop on the new core, so that the tests of the loop can run on it: see vitest.seam.config.ts.

import type { Masking, Plain } from "../../src/core/types/common.ts";
import type { LoopEvent } from "../../src/core/types/loop-event.ts";
import type { LoopOptions, Tool } from "../../src/core/types/loop-options.ts";
import type { LoopResult } from "../../src/core/types/loop-result.ts";
import type { Journal } from "../../src/core/types/journal.ts";
import { memoryJournal } from "../../src/core/journal/memory-journal.ts";
import { checkOptions } from "../../src/core/loop/start/check-options.ts";
import type { EventQueue } from "../../src/core/utils/event-queue.ts";
import { approve } from "../../src/core/middleware/approve.ts";
import { contextRestarts } from "../../src/core/middleware/context-restarts.ts";
import { deferTools } from "../../src/core/middleware/deferred-tools.ts";
import { finalAnswer, onIteration, prepareIteration, stopWhen } from "../../src/core/middleware/iteration-hooks.ts";
import { maskWith } from "../../src/core/middleware/mask-results.ts";
import { readOutput } from "../../src/core/middleware/structured-output.ts";
import type { OutputReader, ResultMasking } from "../../src/core/loop/run/run.ts";
import type { CacheWatch } from "../../src/core/loop/run/run.ts";
import { watchRequests } from "../../src/prompt-cache/middleware.ts";
import { isToolRegistry } from "../../src/core/tools/registry.ts";
import { beginLoop, type BegunLoop } from "../../src/core/run/run-tool-loop.ts";
import type { SeamOptions } from "../../src/core/run/run.ts";
import type { Middleware, StepJournal, Wait } from "../../src/core/run/seam.ts";
import { toWaitingCall, translateTools } from "./translated-calls.ts";

export async function runToolLoop<Output = unknown, T extends Tool = Tool>(
  given: LoopOptions<Output, T>,
): Promise<LoopResult<Plain<Output>, T>> {
  return beginRun(given).result as Promise<LoopResult<Plain<Output>, T>>;
}

export function beginRun(given: LoopOptions, queue?: EventQueue<LoopEvent>): BegunLoop {
  const options: unknown = { ...given };
  checkOptions(options);
  const journal = options.journal ?? memoryJournal();
  const { result, stop } = beginLoop(translate(options, journal), {
    queue,
    convert: (nested) => {
      checkOptions(nested);
      return translate(nested, undefined);
    },
  });
  return { result: result.then((end) => toOldResult(end, journal)), stop };
}

export function translate(options: LoopOptions, journal: Journal | undefined): SeamOptions {
  const { policies, hooks: _hooks, decisions, journal: _, tools, contextItems: _items, ...rest } = options;
  return {
    ...rest,
    ...translateTools(tools),
    middleware: middlewareOf(options),
    ...(policies?.allowToolChange !== undefined && { allowToolChange: policies.allowToolChange.bind(policies) }),
    ...(journal !== undefined && { journal: toStepJournal(journal) }),
    ...(decisions !== undefined && { answers: decisions as unknown as NonNullable<SeamOptions["answers"]> }),
  };
}

/** The outermost middleware comes first. */
function middlewareOf(options: LoopOptions): readonly Middleware[] {
  const { policies = {}, hooks = {} } = options;
  const middleware: Middleware[] = [];
  if (hooks.onIteration !== undefined) middleware.push(onIteration(hooks.onIteration.bind(hooks)));
  middleware.push(...viewsOf(options));
  if (hooks.prepareIteration !== undefined) middleware.push(prepareIteration(hooks.prepareIteration.bind(hooks)));
  middleware.push(deferTools());
  if (policies.output !== undefined) middleware.push(readOutput(policies.output as OutputReader));
  if (policies.stopWhen !== undefined) middleware.push(stopWhen([policies.stopWhen].flat()));
  if (policies.finalAnswer !== undefined && policies.finalAnswer !== false) middleware.push(finalAnswer());
  if (policies.promptCache !== undefined) middleware.push(watchRequests(policies.promptCache as CacheWatch));
  middleware.push(approve(policies.approve));
  return middleware;
}

function findMasking(tools: LoopOptions["tools"] = []): Masking | undefined {
  const listed = isToolRegistry(tools) ? tools.definitions() : tools;
  return listed.find(({ masking }) => masking !== undefined)?.masking;
}

/** Messages are changed in this order: masking, filters of handoffs, compaction, context items. */
function viewsOf({ policies = {}, tools, contextItems, limits }: LoopOptions): readonly Middleware[] {
  const masking = (policies.masking ?? findMasking(tools)) as ResultMasking | undefined;
  const masks = masking === undefined ? [] : [maskWith("mask-results", masking)];
  return [...masks, contextRestarts({ ...policies.restarts, items: contextItems, maxRestarts: limits?.maxRestarts })];
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
  const waits =
    typeof reason === "object" && reason !== null && "waits" in reason ? (reason.waits as readonly Wait[]) : undefined;
  const old = Object.defineProperty({ ...result }, "journal", { value: journal, enumerable: "toJSON" in journal });
  if (waits === undefined) return old;
  const calls = waits.map(toWaitingCall);
  const kind = calls.some(({ waitsFor }) => waitsFor === "approval") ? "approval-required" : "result-required";
  return { ...old, journal, reason: { kind, calls }, pendingCalls: calls };
}
