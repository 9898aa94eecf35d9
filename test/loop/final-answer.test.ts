import { describe, expect, it } from "vitest";
import { finish, type MockPart, text, toolCall } from "turnwright/testing";
import { play, tool } from "./play.ts";

describe("policies.finalAnswer: pauses", () => {
  const start = (turns: readonly (readonly MockPart[])[], maxPauses: number): ReturnType<typeof play> =>
    play([[toolCall("look")], ...turns], {
      tools: [tool("look", () => 1)],
      limits: { maxIterations: 1, maxPauses },
      policies: { finalAnswer: true },
    });

  it.for(["paused", "continue"] as const)("continues an answer that finishes as %s", async (reason) => {
    const playing = start([[text("Half, "), finish(reason)], [text("whole.")]], 3);
    const { reason: ending, finalAnswer, text: said, iterations } = await playing.result;
    expect([ending.kind, finalAnswer, said, iterations]).toEqual(["max-iterations", true, "Half, whole.", 1]);
    expect(playing.provider.requests.map(({ toolChoice }) => toolChoice)).toEqual([undefined, "none", "none"]);
  });

  it("keeps the partial answer if it pauses more often than maxPauses", async () => {
    const { reason, text: said } = await start([[text("Half, "), finish("paused")], [text("whole.")]], 0).result;
    expect([reason, said]).toEqual([{ kind: "max-iterations", limit: 1 }, "Half,"]);
  });
});
