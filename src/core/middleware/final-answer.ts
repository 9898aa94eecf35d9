// Gives the model one more answer, without tools, after a limit is reached.

import type { FinalAnswerReserve } from "../types/middleware-options.ts";
import { checkFields } from "../../shared/errors/check-fields.ts";
import { reserveChecks } from "../loop/option-table.ts";
import { isUnfinished } from "../../shared/judge-finish.ts";
import type { Ending, Middleware } from "../types/middleware.ts";

const counted: ReadonlySet<string> = new Set(["max-iterations", "max-tool-calls"]);
const reserved: ReadonlySet<string> = new Set(["max-tokens", "max-cost", "wall-clock"]);

/**
 * Grants one more iteration without tools if `maxIterations` or `maxToolCalls` ends the run. With a `reserve`, it also does so if
 * `maxTokens`, `maxCostUSD` or `wallClockMs` ends the run. The run still ends with the limit as its reason.
 *
 * Throws LoopError "unknown-option" or "invalid-option" if an option is invalid.
 *
 * @example finalAnswer({ reserve: { tokens: 2_000 } })
 */
export function finalAnswer(options: { readonly reserve?: FinalAnswerReserve } = {}): Middleware {
  checkFields("finalAnswer", options, { reserve: reserveChecks });
  const { reserve } = options;
  return {
    name: "final-answer",
    reserve,
    begin: () => {
      let endedBy: { readonly ending: Ending; isGiven: boolean } | undefined;
      return {
        async request(request, next, at) {
          const granted = endedBy;
          const isOwn = granted !== undefined && (at.state.isGranted || at.state.continuation > 0);
          if (!isOwn) {
            // A run resumed with higher limits may continue after its final answer, so the earlier ending is forgotten.
            endedBy = undefined;
            return next(request);
          }
          const answer = await next({ ...request, toolChoice: "none" });
          const { status } = answer;
          const isCut = status === "stopped-by-user" || status === "follow-up-interrupt";
          granted.isGiven = true;
          return isCut || isUnfinished(answer) ? answer : { ...answer, ends: granted.ending };
        },
        async beforeEnd(ending, { state }) {
          const { kind } = ending.reason;
          // The final answer was paused too often, so the run ends with the limit that triggered the final answer.
          if (endedBy !== undefined) return kind === "max-pauses" ? { ending: endedBy.ending } : undefined;
          // Handles only limits that prevent the next request, because other endings leave no room for an answer.
          if (state.phase !== "look") return undefined;
          if (!counted.has(kind) && !(reserve !== undefined && reserved.has(kind))) return undefined;
          endedBy = { ending, isGiven: false };
          return { again: [] };
        },
        result: () => (endedBy?.isGiven === true ? { finalAnswer: true } : {}),
      };
    },
  };
}
