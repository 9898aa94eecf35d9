import { expect, it } from "vitest";
import { createResultCache } from "turnwright/cache";
import { runTool } from "turnwright/testing";

async function timeOfLooks(size: number): Promise<number> {
  const { cacher, tool } = createResultCache();
  const id = /id "([^"]+)"/.exec(await cacher.store("\n".repeat(size), { toolName: "t" }))?.[1];
  const before = process.cpuUsage();
  for (const action of ["head", "tail", "stats"]) {
    expect(await runTool(tool, { action, id, lines: 1 })).toMatchObject({ kind: "completed" });
  }
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1_000;
}

it("createResultCache: reading from a cached result takes the same time for results of any size", async () => {
  let growth = Number.POSITIVE_INFINITY;
  for (let round = 0; round < 5 && growth >= 3; round++) {
    growth = (await timeOfLooks(3_000_000)) / Math.max(await timeOfLooks(300_000), 10);
  }
  expect(growth).toBeLessThan(3);
});
