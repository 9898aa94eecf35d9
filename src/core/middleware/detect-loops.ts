// Detects when a model keeps repeating its calls.

import type { LoopDetectionOptions } from "../types/middleware-options.ts";
import type { UserMessage } from "../types/message.ts";
import { checkFields, type Checks } from "../../shared/errors/check-fields.ts";
import { isUnfinished } from "../../shared/judge-finish.ts";
import type { Answer, Hooks, Middleware, RequestDraft, State } from "../types/middleware.ts";
import { CycleCounts, type Repeats } from "./count-cycles.ts";

const checks: Checks<LoopDetectionOptions> = {
  threshold: { min: 2 },
  action: ["warn", "stop", "inject-warning"],
  maxCycle: { min: 1, max: 100, infinite: false },
  compareResults: false,
};

/**
 * Detects a model that repeats an iteration or a sequence of iterations, before the calls run. `limitIdenticalCalls` compares the
 * results too.
 *
 * Throws LoopError "unknown-option" or "invalid-option" if an option is invalid.
 *
 * @example await runToolLoop({ provider, tools, messages, middleware: [detectLoops({ action: "stop" })] });
 */
export function detectLoops(options: LoopDetectionOptions = {}): Middleware {
  checkFields("detectLoops", options, checks);
  const middleware: Middleware = { name: "detect-loops", pure: true, begin: () => createDetection(options) };
  // Exposes `action`, so that a rerun from a run log does not add a warning twice.
  return Object.assign(middleware, { action: options.action });
}

function createDetection({ threshold = 3, action = "warn", maxCycle = 4, compareResults = false }: LoopDetectionOptions): Hooks {
  let counts = new CycleCounts({ maxCycle, compareResults });
  let found: Repeats | undefined;
  /** The iteration that was counted last, and the warning at its start, if any. */
  let last: { readonly iteration: number; readonly warning: UserMessage | undefined } | undefined;

  const begin = (state: State): UserMessage | undefined => {
    if (last?.iteration === state.iteration) {
      // The counted message was removed and its request is being repeated, so counting starts again.
      counts = counts.restart();
      return last.warning;
    }
    if (state.lastBatch.length > 0) counts = noteResults(counts, state);
    const isWarned = action === "inject-warning" && found !== undefined && counts.repeats(found.cycle);
    const warning = isWarned && found !== undefined ? warnOfLoop(found.count) : undefined;
    found = undefined;
    // Repeated calls may make sense after a new user message, so counting starts again.
    if (state.look?.messages?.some(({ verb }) => verb === "steer") === true) counts = counts.restart();
    last = { iteration: state.iteration, warning };
    return warning;
  };

  /** Counts a complete message's calls. Returns false if the run does not continue with these calls. */
  const count = (answer: Answer, calls: Answer["calls"]): boolean => {
    if (answer.skipped === true || isUnfinished(answer)) return false;
    const isAsking = answer.status === "tool-calls";
    counts = counts.countCalls(isAsking ? calls : []);
    if (!isAsking || answer.ends !== undefined) return false;
    found = counts.findRepeats(threshold);
    return true;
  };

  return {
    async request(request, next, at) {
      const { state } = at;
      const { isGranted, continuation } = state;
      const warning = continuation === 0 ? begin(state) : undefined;
      if (warning !== undefined) state.messages.push(warning);
      const answer = await next(warning === undefined ? request : withMessage(request, warning));
      const calls = continuation === 0 ? answer.calls : [...state.current.calls, ...answer.calls];
      if (isGranted || !count(answer, calls) || found === undefined) return answer;
      const toolName = calls[0]?.name ?? "";
      at.emit("loop-detected", { ...found, toolName, action });
      return action === "stop" ? endLoop(answer, toolName, found.count) : answer;
    },
  };
}

function noteResults(counts: CycleCounts, { lastBatch, messages }: State): CycleCounts {
  const message = messages.findLast(({ role }) => role === "tool");
  if (message?.role !== "tool") return counts;
  const results = new Map(message.results.map((result) => [result.callId, result]));
  const calls = lastBatch.map(({ call }) => call);
  return counts.noteResults(
    calls,
    calls.map(({ callId }) => results.get(callId)),
  );
}

function warnOfLoop(count: number): UserMessage {
  return { role: "user", content: `You repeated identical tool calls ${count} times. Change your approach or answer.` };
}

function withMessage(request: RequestDraft, message: UserMessage): RequestDraft {
  return { ...request, messages: [...request.messages, message] };
}

function endLoop(answer: Answer, toolName: string, count: number): Answer {
  return { ...answer, ends: { status: "error", reason: { kind: "loop-detected", toolName, count } } };
}
