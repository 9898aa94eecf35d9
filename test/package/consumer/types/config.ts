import { type LoopResult, type Provider, runToolLoop } from "turnwright";
import { type EnvironmentSettings, readEnvironment } from "turnwright/config";

export function ask(provider: Provider, warn: (problem: EnvironmentSettings["problems"][number]) => void): Promise<LoopResult> {
  const { limits, timeouts, problems } = readEnvironment({ TURNWRIGHT_MAX_ITERATIONS: "20" });
  for (const problem of problems) warn(problem);
  return runToolLoop({ provider, messages: [{ role: "user", content: "Hi." }], limits, timeouts });
}
