import { type Provider, runToolLoop } from "turnwright";
import { planLogs, type PlannerOptions, withPlanner } from "turnwright/middleware";

export async function plan(model: Provider, options: PlannerOptions): Promise<readonly string[]> {
  const provider = withPlanner(model, { ...options, maxRounds: 3 });
  const result = await runToolLoop({ provider, messages: [{ role: "user", content: "May we sail?" }] });
  return Array.from(planLogs(result), ({ purpose, success }) => `${purpose}: ${success}`);
}
