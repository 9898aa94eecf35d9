import { describe, expect, it } from "vitest";
import { finalAnswer, type LoopOptions, memoryJournal, type SavedJournal } from "turnwright";
import { fail, type MockMessage, text, toolCall, usage } from "turnwright/testing";
import { play, tool, type Playing } from "./play.ts";

const savedOf = async ({ result }: Playing): Promise<SavedJournal> => JSON.parse(JSON.stringify((await result).journal));
const note = tool("note", () => 1);

describe('resume: "retry-last"', () => {
  it.for<[limit: string, options: Partial<LoopOptions>, kind: string]>([
    ["maxIterations", { limits: { maxIterations: 1 } }, "max-iterations"],
    ["maxTokens", { limits: { maxTokens: 5 } }, "max-tokens"],
    ["maxIterations with a final answer", { limits: { maxIterations: 1 }, middleware: [finalAnswer()] }, "max-iterations"],
  ])("ends the run for the same reason again if the limit is unchanged (%s)", async ([, options, kind]) => {
    const turn: MockMessage = [text("Again. "), toolCall("note"), usage({ inputTokens: 9, outputTokens: 1 })];
    const first = play(() => turn, { ...options, tools: [note] });
    const journal = memoryJournal(await savedOf(first));
    const before = journal.keys();
    let steps = 0;
    const step = <T>(key: string, body: () => T | PromiseLike<T>): T | PromiseLike<T> => {
      steps += 1;
      if (steps > 100) throw new Error("The run goes round in circles.");
      return journal.step(key, body);
    };
    const again = play(() => turn, { ...options, tools: [note], journal: { ...journal, step }, resume: "retry-last" });
    expect((await again.result).reason.kind).toBe(kind);
    expect(journal.keys().length - before.length).toBeLessThan(5);
  });

  it("continues the run if the limit is now higher", async () => {
    const script: readonly MockMessage[] = [toolCall("note"), text("Done.")];
    const first = play(script, { tools: [note], limits: { maxIterations: 1 } });
    const journal = memoryJournal(await savedOf(first));
    const again = play([text("Done.")], { tools: [note], limits: { maxIterations: 2 }, journal, resume: "retry-last" });
    expect([(await again.result).text, again.provider.calls]).toEqual(["Done.", 1]);
  });

  it("counts consecutive tool errors from zero again", async () => {
    const bad = tool("bad", () => Promise.reject(new Error("no")));
    const limits = { maxConsecutiveToolErrors: 2 };
    const first = play([toolCall("bad"), toolCall("bad")], { tools: [bad, note], limits });
    expect((await first.result).reason.kind).toBe("tool-error-cap");
    const script: readonly MockMessage[] = [toolCall("bad"), text("Done.")];
    const again = play(script, {
      tools: [bad, note],
      limits,
      journal: memoryJournal(await savedOf(first)),
      resume: "retry-last",
    });
    expect([(await again.result).text, again.provider.calls]).toEqual(["Done.", 2]);
  });

  it("makes one model request per retry", async () => {
    const broken = play([fail({ status: 503 })]);
    let saved = await savedOf(broken);
    for (let attempt = 1; attempt <= 3; attempt += 1) {
      const again = play([fail({ status: 503 })], { journal: memoryJournal(saved), resume: "retry-last" });
      expect([(await again.result).reason.kind, again.provider.calls]).toEqual(["provider-error", 1]);
      saved = await savedOf(again);
    }
    expect(Object.keys(saved.steps).filter((key) => key.includes("/model"))).toEqual([
      "i0/request/model",
      "i0~2/request/model",
      "i0~3/request/model",
      "i0~4/request/model",
    ]);
  });
});
