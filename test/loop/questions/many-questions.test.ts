import { describe, expect, it } from "vitest";
import { ask } from "turnwright";
import { text, toolCall } from "turnwright/testing";
import { answersOf, play, type Playing, tool } from "../play.ts";

/** A warning of the process, such as MaxListenersExceededWarning, fails each test: test/fail-on-warning.ts. */
function askAll(count: number): Playing {
  const asking = tool("ask", async (_, context) => {
    const all = Array.from({ length: count }, (__, index) => ask(context, { question: `Question ${index}`, wait: true }));
    const settled = await Promise.allSettled(all);
    return settled.map((one) => (one.status === "fulfilled" ? one.value : String(one.reason)));
  });
  return play([toolCall("ask"), text("Done.")], { tools: [asking] });
}

const settle = (): Promise<void> => new Promise((resolve) => void setImmediate(resolve));

describe("questions from one call that wait at the same time", () => {
  it("can number up to 100, and an additional question is refused", async () => {
    const { recording, control, result } = askAll(102);
    await settle();
    const asked = recording.of("question-asked");
    expect(asked.length).toBe(100);
    for (const [index, { id }] of asked.entries()) control.answer(id, { kind: "result", result: `Answer ${index}` });
    const answers = answersOf(await result)[0]?.result as readonly string[];
    expect([answers[0], answers[99]]).toEqual(["Answer 0", "Answer 99"]);
    expect(answers.slice(100)).toEqual(
      Array.from({ length: 2 }, () => expect.stringContaining("already waiting for 100 answers")),
    );
  });

  it("are all withdrawn when the run is killed", async () => {
    const { recording, control, result } = askAll(100);
    await settle();
    control.kill();
    expect((await result).reason.kind).toBe("killed");
    const withdrawn = recording.of("question-answered").filter(({ answer }) => answer === "withdrawn");
    expect(withdrawn.length).toBe(100);
  });
});
