// Detects repeated iterations. A run gets this code only with the value of `detectLoops`, so a bundle without that value does not contain
// it.

import type { LoopDetection, LoopDetectionOptions } from "../../types/policies.ts";
import { checkFields, type Checks } from "../../errors/check-fields.ts";

const checks: Checks<LoopDetectionOptions> = {
  threshold: { min: 2 },
  action: ["warn", "stop", "inject-warning"],
  maxCycle: { min: 1, max: 100, infinite: false },
  compareResults: false,
};

/**
 * Detects a model that repeats an iteration or a sequence of iterations. Without loop detection, a run still ends after
 * `limits.maxIdenticalCalls` identical iterations.
 *
 * Throws LoopError "unknown-option" or "invalid-option".
 *
 * @example await runToolLoop({ provider, tools, messages, policies: { loopDetection: detectLoops({ action: "stop" }) } });
 */
export function detectLoops(options: LoopDetectionOptions = {}): LoopDetection {
  checkFields("policies.loopDetection", options, checks);
  const { threshold = 3, action = "warn", maxCycle = 4, compareResults = false } = options;
  const cycles = { maxCycle, compareResults };
  const detection = { kind: "loop-detection", threshold, action, cycles } as const;
  return detection;
}
