// Ends a run whose model repeats the same calls with the same outcomes.

import { checkFields, type Checks } from "../../shared/errors/check-fields.ts";
import { isSameJson, stableJson, toJson } from "../../shared/json.ts";
import type { EndedCall, Middleware, Outcome } from "../types/middleware.ts";

export interface IdenticalCallsOptions {
  /** How many times the model may make the same calls with the same results, or with the same refusals. At least 2. Default 10. */
  readonly max?: number | undefined;
}

const checks: Checks<IdenticalCallsOptions> = { max: { min: 2 } };

/** Outcomes that are not errors, but indicate a loop if the same calls produce them repeatedly. */
const repeatable: ReadonlySet<Outcome["kind"]> = new Set(["completed", "denied", "approval-failed"]);

/** The outcomes of the newest calls, and how many times in a row they occurred. */
interface Counted {
  readonly outcomes: readonly Outcome[];
  readonly count: number;
}

const none: Counted = { outcomes: [], count: 0 };

/**
 * Ends the run as `loop-detected` after `max` iterations in a row with the same calls and the same results. Calls to tools with
 * `polls: true` do not count.
 *
 * Throws LoopError "unknown-option" or "invalid-option" if an option is invalid.
 *
 * @example await runToolLoop({ provider, tools, messages, middleware: [limitIdenticalCalls()] });
 */
export function limitIdenticalCalls(options: IdenticalCallsOptions = {}): Middleware {
  checkFields("limitIdenticalCalls", options, checks);
  const { max = 10 } = options;
  return {
    name: "identical-calls",
    pure: true,
    begin: () => {
      const polled = new Set<string>();
      let last = { iteration: -1, counted: none };
      return {
        call(call, next, { tool }) {
          if (tool?.polls === true) polled.add(call.callId);
          return next(call);
        },
        async afterCalls(planned, { state, emit }) {
          const { iteration, steered, lastBatch } = state;
          // A new user message restarts the count, because repeated calls may make sense after it.
          const isNext = iteration === last.iteration + 1 && steered.length === 0;
          const counted = countCalls(isNext ? last.counted : none, lastBatch, polled);
          last = { iteration, counted };
          polled.clear();
          const { count, outcomes } = counted;
          if (count < max || (planned !== undefined && planned.status !== "completed")) return undefined;
          const toolName = outcomes[0]?.call.name ?? "";
          emit("loop-detected", { toolName, count, cycle: 1, action: "stop" });
          return { status: "error", reason: { kind: "loop-detected", toolName, count } };
        },
      };
    },
  };
}

/**
 * Counts the calls in a message. A message counts as many times as its most frequent call occurs in it. Calls to polling tools do not
 * count.
 */
function countCalls(last: Counted, ended: readonly EndedCall[], polled: ReadonlySet<string>): Counted {
  const made = ended.filter(({ call }) => !polled.has(call.callId)).map(({ outcome }) => outcome);
  if (made.length === 0 || made.some(({ kind }) => !repeatable.has(kind))) return none;
  const { distinct: outcomes, most } = groupOutcomes(made);
  const isSame =
    outcomes.length === last.outcomes.length && outcomes.every((outcome, index) => isSameOutcome(outcome, last.outcomes[index]));
  return { outcomes, count: isSame ? last.count + most : most };
}

/** Groups equal outcomes. Takes linear time, because an outcome is compared only with the last outcome of the same call. */
function groupOutcomes(outcomes: readonly Outcome[]): { readonly distinct: readonly Outcome[]; readonly most: number } {
  const distinct: Outcome[] = [];
  const groups = new Map<string, { readonly outcome: Outcome; count: number }>();
  let most = 1;
  for (const outcome of outcomes) {
    const key = outcomes.length === 1 ? "" : stableJson([outcome.call.name, outcome.call.args]);
    const group = groups.get(key);
    if (group !== undefined && isSameOutcome(outcome, group.outcome)) {
      group.count += 1;
      most = Math.max(most, group.count);
    } else {
      distinct.push(outcome);
      groups.set(key, { outcome, count: 1 });
    }
  }
  return { distinct, most };
}

function isSameOutcome(one: Outcome, other: Outcome | undefined): boolean {
  if (other === undefined || one.call.name !== other.call.name || !isSameJson(one.call.args, other.call.args)) return false;
  if (one.kind !== "completed" || other.kind !== "completed") return one.kind === other.kind;
  return isSameJson(one.data, other.data) && isSameJson(toJson(one.content ?? []), toJson(other.content ?? []));
}
