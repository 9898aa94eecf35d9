import { expect, test } from "vitest";
import { checkRun, type Start } from "../../examples/own-middleware/check-run.ts";
import { execute } from "../../examples/own-middleware/execution.ts";

/** Dies without a kill: from the point on, nothing is recorded and no tool goes on. */
const start: Start = async (execution) => {
  const die = (): never => {
    throw new Error("The process is dead.");
  };
  try {
    return await execute(execution, die);
  } catch (error) {
    if (execution.killAt === undefined) throw error;
    return "killed";
  }
};

test("a run with permission and quota middleware survives a kill of its process at every fifth point of its execution", async () => {
  const points = await checkRun(start);
  expect(points).toBeGreaterThan(100);
  for (let killAt = 1; killAt <= points; killAt += 5) await checkRun(start, killAt);
});
