import { describe, expect, it } from "vitest";
import { deferTools, type LoopOptions, type LoopResult, prepareIteration, runToolLoop } from "turnwright";
import { createMockProvider, text } from "turnwright/testing";
import { withToolSearch } from "turnwright/middleware";
import { createDurableStore } from "../loop/durable-store.ts";
import { answersOf } from "../loop/play.ts";
import { toolNames } from "./catalog.ts";
import { find, pair } from "./search-stage.ts";

describe("withToolSearch in a run that is resumed before the search", () => {
  it("finds only the tools that prepareIteration has allowed", async () => {
    for (let records = 1; records < 6; records += 1) {
      const store = createDurableStore();
      const lists: (readonly string[])[] = [];
      const start = (afterRecords?: number): Promise<LoopResult> => {
        const options: LoopOptions = {
          provider: createMockProvider((request) => {
            lists[request.iteration] = toolNames(request);
            return request.iteration === 0 ? find("alpha beta") : text("Done.");
          }),
          messages: [{ role: "user", content: "Go." }],
          tools: withToolSearch(pair),
          middleware: [
            prepareIteration(({ iteration }) => (iteration === 0 ? { tools: ["find_tools", "beta"] } : {})),
            deferTools(),
          ],
          runId: `resumed-${records}`,
          journal: store.open({ afterRecords }),
        };
        return runToolLoop(options);
      };
      await expect(start(records)).rejects.toThrow("The process died.");
      const [answer] = answersOf(await start());
      expect(answer?.result).toEqual({ tools: [{ name: "beta", description: "beta" }] });
      expect(lists).toEqual([["find_tools"], ["clock", "find_tools", "beta"]]);
    }
  });
});
