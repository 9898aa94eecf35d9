// Decides which tools may run, and reports which calls it allowed.

import type { DeliberateGate } from "../types/middleware-options.ts";
import type { TriggerMatch } from "../types/loop-event.ts";
import type { PlainError } from "../types/common.ts";
import type { CallRecorder, Middleware, Outcome } from "../types/middleware.ts";
import { checkFields, type Checks, is, isFunction, needed } from "../../shared/errors/check-fields.ts";
import { wasDispatched } from "../../shared/to-outcome.ts";
import { edges } from "../../shared/edges.ts";
import { isRecord, isThenable } from "../../shared/guards.ts";
import { toPlainError } from "../../shared/plain-error.ts";
import { promiseOrValue } from "../../shared/promises.ts";

// Rejects unknown fields, because a gate with a misspelled `allowedNames` would allow every tool.
const checks: Checks<DeliberateGate> = {
  active: /* @__PURE__ */ needed(is.flag),
  allowedNames: [
    "an array or a set of tool names",
    (value) => typeof value === "object" && value !== null && Symbol.iterator in value,
  ],
  triggerMatchByToolName: ["a Map", (value) => isRecord(value) && isFunction(value["get"])],
  unsearched: ["an array of triggers", is.texts[1]],
  retain: is.fn,
};

/**
 * While the gate is active, only the tools that it allows can run. Calls to other tools get the outcome "blocked", although the model sees
 * these tools.
 *
 * Throws LoopError "unknown-option" or "invalid-option" if a field of the gate is invalid.
 *
 * @example gateTools({ active: true, allowedNames: ["search"] })
 */
export function gateTools(gate: DeliberateGate): Middleware {
  checkFields("gateTools", gate, checks);
  const { active, allowedNames } = gate;
  if (!active) return { name: "gate", pure: true };
  return {
    name: "gate",
    pure: true,
    begin: () => {
      const allowed = allowedNames === undefined ? undefined : [...new Set(allowedNames)];
      return {
        request: (request, next) => next(allowed === undefined ? request : { ...request, allowedTools: allowed }),
        async call(call, next, at) {
          const { isReplayed } = at;
          const outcome = await next(call);
          report(gate, outcome, { at, isLive: !(isReplayed && at.isReplayed) });
          return outcome;
        },
      };
    },
  };
}

interface Reported {
  readonly at: CallRecorder;
  readonly isLive: boolean;
}

/** Calls the gate's functions. Their errors do not affect the run. */
function report(gate: DeliberateGate, outcome: Outcome, { at, isLive }: Reported): void {
  const {
    kind,
    call: { name, args },
  } = outcome;
  const guarded = (event: string, work: () => unknown): void => {
    const fail = (thrown: unknown): void =>
      at.emit("listener-error", { event, error: toPlainError(thrown) satisfies PlainError });
    try {
      const answer = promiseOrValue(work());
      if (answer instanceof Promise) answer.catch(fail);
    } catch (error) {
      fail(error);
    }
  };
  if (isLive && kind === "completed") guarded("retain", () => gate.retain?.(name));
  if (!wasDispatched(kind)) return;
  at.end(outcome);
  let trigger: TriggerMatch | undefined;
  guarded("triggerMatchByToolName", () => {
    const found: unknown = gate.triggerMatchByToolName?.get(name);
    if (isRecord(found) && !isThenable(found)) trigger = found as unknown as TriggerMatch;
    return found;
  });
  if (trigger !== undefined) at.emit("hidden-notice", { trigger, args: edges.redactJson(args) });
}
