import type { LoggedIteration, LoggedRun } from "turnwright/inspect";

/** The facts of an iteration that must be equal in a replay. Times, durations and requests may differ. */
export function factsOf({ iteration, continuation, output, calls, status, usage, finish, model }: LoggedIteration): object {
  return {
    iteration,
    continuation,
    status,
    usage,
    finish,
    model,
    said: output && { text: output.text, reasoning: output.reasoning, providerMetadata: output.providerMetadata },
    calls: calls.map(({ callId, name, index, args, outcome, result }) => ({ callId, name, index, args, outcome, result })),
  };
}

/** Returns the facts of a run with its decisions and nested runs, which a journal records too. */
export function deepFactsOf(run: LoggedRun): object {
  const { path, status, reason, usage, toolCallsExecuted, iterations } = run;
  const deep = iterations.map((one) => ({
    ...factsOf(one),
    calls: one.calls.map(({ callId, args, outcome, result, decision, runs }) => {
      return { callId, args, outcome, result, decision, runs: runs.map(deepFactsOf) };
    }),
  }));
  return { path, status, reason, usage, toolCallsExecuted, iterations: deep };
}
