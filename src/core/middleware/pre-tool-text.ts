// Ends the run if the model wrote its whole answer before its tool calls.

import type { PreToolTextPolicy } from "../types/middleware-options.ts";
import { checkFields, type Checks, is } from "../../shared/errors/check-fields.ts";
import type { Middleware, State } from "../types/middleware.ts";

const checks: Checks<PreToolTextPolicy> = {
  endAfterTextFamilies: ["an array of provider families", is.texts[1]],
  suppressFollowUpAfterText: ["an array of tool names", is.texts[1]],
};

/**
 * Ends the run as `pre-tool-text` after an iteration with text, if every called tool succeeded and needs no additional iteration: see
 * `PreToolTextPolicy`.
 *
 * Throws LoopError "unknown-option" or "invalid-option" if an option is invalid.
 *
 * @example preToolText({ suppressFollowUpAfterText: ["remember"] })
 */
export function preToolText(policy: PreToolTextPolicy = {}): Middleware {
  checkFields("preToolText", policy, checks);
  const { endAfterTextFamilies = [], suppressFollowUpAfterText = [] } = policy;
  const families: ReadonlySet<string> = new Set(endAfterTextFamilies);
  return {
    name: "pre-tool-text",
    pure: true,
    begin: () => {
      const enough = new Set<string>(suppressFollowUpAfterText);
      return {
        request(request, next) {
          for (const { name, requiresFollowUp } of request.tools) {
            if (requiresFollowUp === false) enough.add(name);
            else if (requiresFollowUp === true && !suppressFollowUpAfterText.includes(name)) enough.delete(name);
          }
          return next(request);
        },
        ends(state) {
          if (!isAnswered(state)) return undefined;
          const { family } = state.answers.at(-1) ?? {};
          const isWhole = family !== undefined && families.has(family);
          if (!isWhole && !state.lastBatch.every(({ call }) => enough.has(call.name))) return undefined;
          return { status: "completed", reason: { kind: "pre-tool-text" } };
        },
      };
    },
  };
}

function isAnswered({ phase, lastBatch, current }: State): boolean {
  if (phase !== "calls" || lastBatch.length === 0 || current.text.trim() === "") return false;
  return lastBatch.every(({ outcome }) => outcome.kind === "completed" && outcome.restart !== true);
}
