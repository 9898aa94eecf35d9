import { describe, expect, it } from "vitest";
import type { ModelChunk } from "../../core/types/provider.ts";
import { Answer, createEventReader } from "./read-answer.ts";

function begin(): { readonly out: ModelChunk[]; readonly answer: Answer } {
  const out: ModelChunk[] = [];
  return {
    out,
    answer: new Answer(
      out,
      new Map([
        ["end", "stop"],
        ["filter", "content-filter"],
      ]),
    ),
  };
}

describe("Answer", () => {
  it.for<[words: readonly string[], reason: string]>([
    [["end"], "stop"],
    [["end", "filter"], "content-filter"],
    [["filter", "end"], "content-filter"],
    [["end", "new"], "unknown"],
  ])("after the finish reasons %j, has the reason %s", ([words, reason]) => {
    const { answer } = begin();
    for (const word of words) answer.stop(word);
    expect(answer.finish?.reason).toBe(reason);
  });

  it("sends token counts that never decrease", () => {
    const { answer, out } = begin();
    answer.count({ inputTokens: 9, outputTokens: 1, totalTokens: 10 });
    answer.count(undefined);
    answer.count({ inputTokens: 0, outputTokens: 4, totalTokens: 4 });
    expect(out).toMatchObject([{ usage: { inputTokens: 9 } }, { usage: { inputTokens: 9, outputTokens: 4, totalTokens: 13 } }]);
  });

  it("fails if a second answer begins before the finish reason, and ignores a second answer after it", () => {
    const cut = begin();
    cut.answer.leave();
    expect([cut.answer.failed, cut.out]).toMatchObject([true, [{ error: { code: "stream-ended-early", retryable: true } }]]);
    const whole = begin();
    whole.answer.stop("end");
    whole.answer.leave();
    expect([whole.answer.failed, whole.answer.isOver, whole.out]).toEqual([false, true, []]);
  });

  it("separates an explanation from the answer's text", () => {
    for (const [text, refusal] of [
      ["\n", "No."],
      ["Hi", "\n\nNo."],
    ] as const) {
      const { answer, out } = begin();
      answer.watchText(text);
      answer.explanation = "No.";
      answer.explain();
      expect(out).toEqual([{ type: "refusal-delta", text: refusal }]);
    }
  });
});

describe("createEventReader", () => {
  it("reads objects until the answer is closed", () => {
    const { answer } = begin();
    const seen: unknown[] = [];
    const reader = createEventReader(answer, { read: (event) => seen.push(event), end: () => undefined });
    for (const event of [null, "text", { n: 1 }]) reader.read(event);
    answer.close();
    reader.read({ n: 2 });
    expect([seen, reader.isOver, reader.finished, reader.mayGoOn]).toEqual([[{ n: 1 }], true, false, false]);
  });
});
