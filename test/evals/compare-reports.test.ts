import { compareReports, evaluate, type EvalReport, renderEvalPage, toMarkdownReport } from "turnwright/evals";
import { describe, expect, it } from "vitest";
import { makeFolder } from "../journal/folder.ts";
import { type Agent, hostile, openPage, type Outcome, run, runAgent, scripted, textsOf } from "./scripted.ts";

describe("compareReports", () => {
  it("pairs cases by id, and tests whether more cases became worse than better", async () => {
    const names = Array.from({ length: 8 }, (_, index) => `case ${index}`);
    const cases = (outcome: Outcome) => Object.fromEntries(names.map((name) => [name, [outcome]] as const));
    const before = await run({
      ...cases("pass"),
      up: ["fail"],
      gone: ["pass"],
      down: ["error", "error", "error"],
      back: ["error", "error", "error"],
    });
    const after = await run({ down: ["fail"], ...cases("fail"), up: ["pass"], fresh: ["fail"], back: ["pass"] });
    const comparison = await compareReports(before, after);
    expect(comparison).toMatchObject({ name: "support", isWorse: true, worse: 8, better: 1 });
    expect(comparison.p).toBeCloseTo(0.039, 3);
    expect(comparison.reason).toBe("significantly more cases became worse than better");
    expect(comparison.passRate).toEqual({ before: 8 / 9, after: 1 / 9 });
    const changes = Object.fromEntries(comparison.cases.map(({ id, change }) => [id, change]));
    expect(changes).toMatchObject({
      "case 0": "worse",
      up: "better",
      gone: "removed",
      fresh: "added",
      down: "unclear",
      back: "unclear",
    });
    expect(await compareReports(after, before)).toMatchObject({ isWorse: false, worse: 1, better: 8 });
  });

  it("lists each case that changed, and notes if the change is not significant", async () => {
    const options = { passRate: 0.5, directory: false } as const;
    const score = (value: number) => ({
      ...options,
      check: (passed: boolean) => ({ refunded: { pass: passed, reason: hostile }, [hostile]: value, same: 0.5 }),
    });
    const before = await run(
      {
        calm: ["pass", "pass", "pass", "pass"],
        weaker: ["pass", "pass", "pass", "pass"],
        rarely: ["fail", "fail", "fail", "pass"],
        never: ["fail", "fail", "fail", "pass"],
        down: ["error", "error", "error", "error", "error", "error"],
      },
      score(0.75),
    );
    const after = await run(
      {
        calm: ["pass", "pass", "pass", "pass"],
        weaker: ["pass", "pass", "pass", "fail"],
        rarely: ["fail", "fail", "fail", "fail"],
        never: ["fail", "fail", "pass", "fail"],
        down: ["fail", "fail", "fail", "fail"],
      },
      score(0.25),
    );
    const comparison = await compareReports(before, after, { maxDrop: 0.5 });
    expect(Object.fromEntries(comparison.cases.map(({ id, change }) => [id, change]))).toEqual({
      calm: "same",
      weaker: "less-often",
      rarely: "less-often",
      never: "same",
      down: "unclear",
    });
    expect(comparison).toMatchObject({ isWorse: false, scores: { [hostile]: { before: 0.75, after: 0.25 } } });
    expect(comparison.scores).not.toHaveProperty("same");
    const markdown = toMarkdownReport(after, { comparison });
    expect(markdown).toContain(
      "## ✓ `support`: Not significantly worse than before.\n\nThis version failed: 2 of 5 cases passed",
    );
    expect(markdown).toContain("Other cases whose trials pass less often: 2, more often: 0.");
    expect(markdown).toContain("| `rarely` | less-often | failed 1/4 | failed 0/4 |");
    expect(markdown).toContain("| `down` | unclear | error 0/0, 6 errors | failed 0/4 |");
    // Its verdict is the same, and its score fell.
    expect(markdown).toMatch(/^\| `calm` \| same \| passed 4\/4 \| passed 4\/4 \| ``score <img.*0\.75 → 0\.25\.`` \|$/m);
    for (const line of markdown.split("\n")) expect(line.replace(/``.*?``/g, "")).not.toMatch(/<img|@octocat/);
    expect(textsOf(openPage(renderEvalPage(after, { comparison })), ".changes tbody th")).toEqual(
      comparison.cases.map(({ id }) => id),
    );
    const one = await compareReports(await run({ a: ["pass"], b: ["pass"] }), await run({ a: ["fail"], b: ["pass"] }), {
      maxDrop: 1,
    });
    expect(toMarkdownReport(after, { comparison: one })).toContain("Exact McNemar test: p = 1, so chance may explain this.");
    expect(toMarkdownReport(after, { comparison: await compareReports(after, after) })).toContain(
      "## ✓ `support`: Not worse than before.",
    );
  });

  it("reports if one version was not evaluated completely", async () => {
    const whole = await run({ a: ["pass"] });
    const stopped = await evaluate(scripted({ a: ["pass"] }), { signal: AbortSignal.abort() });
    const markdown = toMarkdownReport(whole, { comparison: await compareReports(stopped, whole) });
    expect(markdown).toContain("The previous version ended before all trials had run: it was stopped.");
    expect(markdown).toContain("| `a` | unclear | undecided 0/0 | passed 1/1 |");
  });

  it.each([
    [0.25, 0.2, true],
    [0.25, 0.25, false],
    [0.05, undefined, false],
    [0.06, undefined, true],
  ])("reports a pass rate that is lower by %s as worse only if the drop exceeds maxDrop: %s", async (drop, maxDrop, isWorse) => {
    const failed = Math.round(100 * drop);
    const of = (count: number): readonly Outcome[] => Array.from({ length: 100 }, (_, at) => (at < count ? "fail" : "pass"));
    const [before, after] = await Promise.all(
      [0, failed].map((count) => evaluate(scripted({ a: of(count) }), { trials: 100, passRate: 0.01 })),
    );
    const comparison = await compareReports(before as EvalReport, after as EvalReport, maxDrop === undefined ? {} : { maxDrop });
    expect(comparison.isWorse).toBe(isWorse);
  });

  it.for<readonly [what: string, before: Agent, after: Agent, text: string]>([
    [
      "a different call",
      { calls: ["lookup", "refund"], ok: true },
      { calls: ["lookup", "lookup"], ok: false },
      "iteration 1: different call: refund → lookup",
    ],
    ["a missing call", { calls: ["refund"], ok: true }, { calls: [], ok: false }, "iteration 0: missing call: refund"],
    ["an additional call", { calls: [], ok: false }, { calls: ["refund"], ok: true }, "iteration 0: extra call: refund"],
    [
      "a different question",
      { calls: ["refund"], ok: true, message: "Pay me back" },
      { calls: [], ok: false },
      "iteration 0: missing call: refund (the requests differ in messages)",
    ],
    [
      "different words after a different question",
      { calls: ["refund"], ok: true, message: "Pay me back" },
      { calls: ["refund"], ok: false },
      `iteration 1: different text: "Yes." → "No."`,
    ],
    [
      "different words",
      { calls: ["refund"], ok: true },
      { calls: ["refund"], ok: false },
      `iteration 1: different text: "Yes." → "No."`,
    ],
    [
      "a different prompt",
      { calls: [], ok: true },
      { calls: [], ok: false, system: "Be rude." },
      `iteration 0: different text: "Yes." → "No." (the requests differ in system)`,
    ],
  ])("names the first difference: %s", async ([, first, second, found]) => {
    const [before, after] = [await runAgent(makeFolder(), first), await runAgent(makeFolder(), second)];
    const comparison = await compareReports(before, after);
    expect(comparison.cases[0]).toMatchObject({
      change: first.ok ? "worse" : "better",
      difference: { before: "order/1", after: "order/1", text: found },
    });
    expect(toMarkdownReport(after, { comparison })).toContain(`| \`${found} (order/1 and order/1)\` |`);
    expect(openPage(renderEvalPage(after, { comparison })).querySelector(".comparison")?.textContent).toContain(found);
  });

  it("quotes long answers around their first difference", async () => {
    const [before, after] = await Promise.all(
      [true, false].map((ok) => {
        const answer = `${"All orders are fine. ".repeat(3)}\u{1f600}So: \nYour order is ${ok ? "paid back, and" : "lost, and"} ${"so on ".repeat(20)}`;
        return runAgent(makeFolder(), { calls: [], ok, answer });
      }),
    );
    const comparison = await compareReports(before as EvalReport, after as EvalReport);
    expect(comparison.cases[0]?.difference?.text).toBe(
      'iteration 0: different text: "…So: Your order is paid back, and so on so on so …" → "…So: Your order is lost, and so on so on so on so…"',
    );
  });

  it("compares tokens and costs per trial, and skips logs that a later evaluation has replaced", async () => {
    const directory = makeFolder();
    const before = await runAgent(directory, { calls: ["refund"], ok: true });
    await runAgent(directory, { calls: ["lookup"], ok: true });
    const after = await runAgent(makeFolder(), { calls: [], ok: false });
    const comparison = await compareReports(before, after);
    expect(comparison).toMatchObject({ tokens: { before: 400, after: 200 }, costUSD: { before: 0.5, after: 0.25 } });
    expect(comparison.cases[0]).toMatchObject({ change: "worse" });
    expect(comparison.cases[0]?.difference).toBeUndefined();
    expect(toMarkdownReport(after, { comparison })).toContain("Cost per trial: $0.5000 → $0.2500.");
  });
});
