import { createHash } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { Window } from "happy-dom";
import { defineTool, runToolLoop } from "turnwright";
import {
  compareReports,
  defineEvaluation,
  evaluate,
  type EvalOptions,
  type EvalReport,
  renderEvalPage,
  toJUnitReport,
  toMarkdownReport,
} from "turnwright/evals";
import { createMockProvider, text, toolCall, usage } from "turnwright/testing";
import { describe, expect, it } from "vitest";
import { makeFolder } from "../journal/folder.ts";

const hostile = `<img src=x onerror=alert(1)> | "q" & 'a' \`b\` @octocat </script><script>\n\u001b[2J\u202e\ud800]]>`;

type Outcome = "pass" | "fail" | "error";

/** An evaluation without runs: each case lists the outcomes of its trials. */
function scripted(cases: { readonly [id: string]: readonly Outcome[] }, options: EvalOptions = {}) {
  return defineEvaluation({
    name: "support",
    cases: Object.entries(cases).map(([id, outcomes]) => ({ id, outcomes })),
    directory: false,
    run({ outcomes }, { number }) {
      if (outcomes[number - 1] === "error") throw new Error(hostile);
      return outcomes[number - 1] === "pass";
    },
    check: (passed) => ({ refunded: { pass: passed, reason: passed ? "paid" : hostile }, polite: { score: 0.5 } }),
    ...options,
  });
}

const mixed = {
  calm: ["pass", "pass"],
  flaky: ["pass", "fail"],
  [hostile]: ["fail", "fail"],
  outage: ["error", "error", "error", "error"],
} as const;

const run = (cases: { readonly [id: string]: readonly Outcome[] }, options?: EvalOptions): Promise<EvalReport> =>
  evaluate(scripted(cases, options), { trials: Object.values(cases)[0]?.length ?? 1 });

interface Agent {
  /** The names of the tools that the agent calls, one after another. */
  readonly calls: readonly string[];
  readonly ok: boolean;
  readonly system?: string;
  readonly message?: string;
  readonly answer?: string;
}

/** An evaluation of an agent with tools, which keeps all trials. */
function runAgent(
  directory: string,
  { calls, ok, system = "Be brief.", message = "Refund my order", answer = ok ? "Yes." : "No." }: Agent,
): Promise<EvalReport> {
  const names = ["refund", "lookup"];
  return evaluate(
    defineEvaluation({
      name: "agent",
      cases: [{ id: "order" }],
      directory,
      keep: "all",
      run(_item, trial) {
        const tools = names.map((name) =>
          defineTool({ name, description: name, inputSchema: { type: "object" }, execute: () => "done" }),
        );
        const spent = usage({ inputTokens: 100, outputTokens: 100, cachedInputTokens: 50 });
        const steps = calls.map((name) => [toolCall(name, {}), spent]);
        const provider = createMockProvider([...steps, [text(answer), spent]]);
        const messages = [{ role: "user" as const, content: message }];
        return runToolLoop(trial.options({ provider, tools, system, messages, pricing: () => 0.25 }));
      },
      check: () => ok,
    }),
  );
}

describe("toMarkdownReport", () => {
  it("lists failed and flaky cases first, with rates, costs and reasons", async () => {
    const { cases, totals, ...head } = await run(mixed);
    const spent = { tokens: 700, inputTokens: 600, cachedTokens: 420, costUSD: 3.5 };
    const markdown = toMarkdownReport({ ...head, durationMs: 1_250, cases, totals: { ...totals, ...spent } });
    const rows = markdown.split("\n").filter((line) => line.startsWith("| "));
    expect(markdown.split("\n")[0]).toBe("## ✗ `support` failed: 1 of 4 cases passed, 4 trials with an error");
    expect(markdown).toContain("6 trials: 50 % (18.8 % to 81.2 %) passed");
    expect(markdown).toContain("700 tokens, 70 % of the input from the cache · $3.50 · 1.25 s");
    expect(rows.slice(2).map((row) => row.split(" | ").slice(1))).toEqual([
      ["failed, flaky", "1/2", "50 % (9.45 % to 90.5 %)", "0", "$0.0000 |"],
      expect.arrayContaining(["failed", "0/2", "0 % (0 % to 65.8 %)"]) as unknown,
      ["error", "0/0", "no trial", "0", "$0.0000 |"],
      ["passed", "2/2", "100 % (34.2 % to 100 %)", "0", "$0.0000 |"],
    ]);
    expect(markdown).toContain("Flaky: `flaky`");
    expect(markdown).toMatch(/^- `flaky\/2` `refunded`: ``<img/m);
    expect(markdown).toMatch(/^- `outage\/1` \*\*error\*\*: /m);
    expect(markdown).toContain("Mean scores: `polite 0.5`");
  });

  it("shows untrusted texts in code, on one line, with escaped cells", async () => {
    const markdown = toMarkdownReport(await run({ [hostile]: ["fail"] }));
    const row = markdown.split("\n").find((line) => line.startsWith("| ``<img"));
    expect(row?.replaceAll("\\|", "").split("|")).toHaveLength(8);
    for (const line of markdown.split("\n")) expect(line.replace(/``.*?``/g, "")).not.toMatch(/<img|@octocat/);
    expect(markdown).toContain("‹U+001B›[2J‹U+202E›");
  });

  it("folds the passed cases of a large report", async () => {
    const many = Object.fromEntries(Array.from({ length: 25 }, (_, index) => [`case ${index}`, ["pass"] as const]));
    const markdown = toMarkdownReport(await run({ ...many, broken: ["fail"] }));
    const [open = "", folded = ""] = markdown.split("<details>");
    expect(open).toContain("`broken`");
    expect(open).not.toContain("`case 3`");
    expect(folded).toContain("<summary>25 passed cases</summary>");
    expect(folded).toContain("`case 3`");
    const broken = Array.from({ length: 300 }, (_, index) => [`${index} ${hostile.repeat(5)}`, ["fail"] as const]);
    const long = toMarkdownReport(await run(Object.fromEntries(broken)));
    expect(long).toContain("\nand 220 more cases\n");
    expect(long).toContain("\n- and 260 more\n");
    // The limit of GitHub for a comment.
    expect(long.length).toBeLessThan(65_536);
  });
});

interface Xml {
  readonly root: Element;
  find(selector: string): readonly Element[];
}

function parseXml(source: string): Xml {
  const document = new new Window().DOMParser().parseFromString(source, "application/xml") as unknown as Document;
  expect(document.querySelector("parsererror")?.textContent).toBeUndefined();
  return { root: document.documentElement, find: (selector) => [...document.querySelectorAll(selector)] };
}

const attributesOf = (element: Element | undefined, ...names: readonly string[]): readonly (string | null)[] =>
  names.map((name) => element?.getAttribute(name) ?? null);

describe("toJUnitReport", () => {
  it("has a test for each case, with failures and errors apart", async () => {
    const source = toJUnitReport(await run(mixed));
    const { root, find } = parseXml(source);
    const cases = find("testcase");
    expect(attributesOf(root, "tests", "failures", "errors")).toEqual(["4", "2", "1"]);
    expect(attributesOf(find("testsuite")[0], "name", "tests", "failures", "errors")).toEqual(["support", "4", "2", "1"]);
    expect(cases.map((one) => [...one.children].map(({ tagName }) => tagName))).toEqual([
      ["properties"],
      ["properties", "failure"],
      ["properties", "failure"],
      ["properties", "error"],
    ]);
    expect(find("failure").map((one) => one.getAttribute("message"))).toEqual([
      "1 of 2 trials failed (50 %)",
      "2 of 2 trials failed (100 %)",
    ]);
    expect(find("failure")[0]?.textContent).toContain("trial 2: refunded: <img src=x");
    const rates = find("testcase property[name=passRate]").map((one) => one.getAttribute("value"));
    expect(rates).toEqual(["1", "0.5", "0"]);
  });

  it("is well-formed whatever the texts are", async () => {
    const source = toJUnitReport(await run({ [hostile]: ["fail"], "\uffff": ["error", "error", "error"] }));
    // The characters of XML 1.0.
    expect(source).toMatch(/^[\t\n\u0020-\ud7ff\ue000-\ufffd\u{10000}-\u{10ffff}]*$/u);
    const [first, second] = parseXml(source).find("testcase");
    expect(first?.getAttribute("name")).toBe(
      hostile.replace("\u001b", "‹U+001B›").replace("\u202e", "‹U+202E›").replace("\ud800", "\ufffd"),
    );
    expect(second?.getAttribute("name")).toBe("\ufffd");
  });

  it("reports a case without a verdict as an error, and joins several evaluations", async () => {
    const stopped = await evaluate(scripted({ a: ["pass"] }), { signal: AbortSignal.abort() });
    const { root, find } = parseXml(toJUnitReport([stopped, await run({ b: ["pass"] }, {})]));
    expect(attributesOf(root, "tests", "failures", "errors")).toEqual(["2", "0", "1"]);
    expect(find("error")[0]?.getAttribute("message")).toBe("The case has no verdict: the evaluation ended before (stopped).");
  });
});

function openPage(html: string): Document {
  return new new Window().DOMParser().parseFromString(html, "text/html") as unknown as Document;
}

const textsOf = (page: Document, selector: string): readonly (string | null)[] =>
  [...page.querySelectorAll(selector)].map(({ textContent }) => textContent);

const linkOf = (page: Document): string => page.querySelector(".card a")?.getAttribute("href") ?? "no link";

describe("renderEvalPage", () => {
  it("shows each trial with its checks, ending, cost and a link to its page", async () => {
    const directory = makeFolder();
    const report = await runAgent(directory, { calls: ["refund"], ok: false });
    const folder = join(directory, "agent");
    const trial = report.cases[0]?.trials[0];
    expect(trial?.page).toBe(join(folder, "cases", "order", "1", "page.html"));
    expect(readFileSync(join(folder, linkOf(openPage(renderEvalPage(report)))), "utf8")).toContain("Refund my order");
    // `evaluate` writes the page too.
    expect(readFileSync(join(folder, "report.html"), "utf8")).toBe(renderEvalPage(report));
    const page = openPage(renderEvalPage(report));
    expect(textsOf(page, "button.trial")).toEqual(["✗"]);
    expect(page.querySelector("button.trial")?.getAttribute("popovertarget")).toBe(page.querySelector(".card")?.id);
    expect(textsOf(page, ".card .checks li")).toEqual(["✗ check"]);
    expect(textsOf(page, ".card dd").slice(0, 3)).toEqual(["answered", "400 tokens", "$0.5000"]);
    expect(linkOf(page)).toBe("cases/order/1/page.html");
    const moved = openPage(renderEvalPage(report, { folder: dirname(directory) }));
    expect(existsSync(join(dirname(directory), linkOf(moved)))).toBe(true);
    expect(textsOf(page, ".facts")[0]).toContain("400 tokens, 50 % of the input from the cache · $0.5000");
  });

  it("shows untrusted texts as text, and allows only its own script and style", async () => {
    const report = await run({ [hostile]: ["fail", "pass"] });
    const html = renderEvalPage(report);
    const page = openPage(html);
    expect(page.querySelectorAll("img, script")).toHaveLength(1);
    expect(page.querySelector(".name")?.textContent).toContain("<img src=x onerror=alert(1)>");
    const policy = page.querySelector("meta[http-equiv]")?.getAttribute("content") ?? "";
    const hashOf = (source = ""): string => `'sha256-${createHash("sha256").update(source).digest("base64")}'`;
    expect(policy).toContain("default-src 'none'");
    expect(policy).toContain(`script-src ${hashOf(/<script>([^]*)<\/script>/.exec(html)?.[1])}`);
    expect(policy).toContain(`style-src ${hashOf(/<style>([^]*)<\/style>/.exec(html)?.[1])}`);
    expect(html).not.toMatch(/ style=| on\w+="/);
  });

  it("filters the cases of all evaluations by status and text", async () => {
    const html = renderEvalPage([await run(mixed), await run({ other: ["pass"] })]);
    const window = new Window({
      settings: { enableJavaScriptEvaluation: true, suppressInsecureJavaScriptEnvironmentWarning: true },
    });
    window.document.write(html);
    const page = window.document as unknown as Document;
    const shown = (): readonly (string | undefined)[] =>
      [...page.querySelectorAll<HTMLElement>(".matrix tbody tr")]
        .filter((row) => !row.hidden)
        .map((row) => row.querySelector(".name")?.textContent?.slice(0, 6));
    const choose = (id: string, value: string): void => {
      const field = page.getElementById(id) as HTMLInputElement;
      field.value = value;
      field.dispatchEvent(new window.Event("input", { bubbles: true }) as unknown as Event);
    };
    expect(shown()).toEqual(["flaky", "<img s", "outage", "calm", "other"]);
    choose("status", "failed");
    expect([shown(), page.getElementById("count")?.textContent]).toEqual([["flaky", "<img s"], "2 of 5 cases"]);
    choose("text", "OCTOCAT");
    expect(shown()).toEqual(["<img s"]);
    await window.happyDOM.close();
  });
});

describe("compareReports", () => {
  it("pairs cases by id, and tests whether more became worse than better", async () => {
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

  it("lists each case in which something has changed, and says if that is not significant", async () => {
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
    expect(markdown).toContain("**Not significantly worse than before.**");
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
    expect(toMarkdownReport(after, { comparison: await compareReports(after, after) })).toContain("**Not worse than before.**");
  });

  it("says if a version was not evaluated to its end", async () => {
    const whole = await run({ a: ["pass"] });
    const stopped = await evaluate(scripted({ a: ["pass"] }), { signal: AbortSignal.abort() });
    const markdown = toMarkdownReport(whole, { comparison: await compareReports(stopped, whole) });
    expect(markdown).toContain("The version before ended before all trials: it was stopped.");
    expect(markdown).toContain("| `a` | unclear | undecided 0/0 | passed 1/1 |");
  });

  it.each([
    [0.25, 0.2, true],
    [0.25, 0.25, false],
    [0.05, undefined, false],
    [0.06, undefined, true],
  ])("for a pass rate that is lower by %s, with maxDrop %s", async (drop, maxDrop, isWorse) => {
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
      "another call",
      { calls: ["lookup", "refund"], ok: true },
      { calls: ["lookup", "lookup"], ok: false },
      "iteration 1: another call: refund → lookup",
    ],
    ["a missing call", { calls: ["refund"], ok: true }, { calls: [], ok: false }, "iteration 0: no call: refund"],
    ["one more call", { calls: [], ok: false }, { calls: ["refund"], ok: true }, "iteration 0: one more call: refund"],
    [
      "another question",
      { calls: ["refund"], ok: true, message: "Pay me back" },
      { calls: [], ok: false },
      "iteration 0: no call: refund (the requests differ in messages)",
    ],
    [
      "other words after another question",
      { calls: ["refund"], ok: true, message: "Pay me back" },
      { calls: ["refund"], ok: false },
      `iteration 1: other words: "Yes." → "No."`,
    ],
    [
      "other words",
      { calls: ["refund"], ok: true },
      { calls: ["refund"], ok: false },
      `iteration 1: other words: "Yes." → "No."`,
    ],
    [
      "another prompt",
      { calls: [], ok: true },
      { calls: [], ok: false, system: "Be rude." },
      `iteration 0: other words: "Yes." → "No." (the requests differ in system)`,
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
      'iteration 0: other words: "…So: Your order is paid back, and so on so on so …" → "…So: Your order is lost, and so on so on so on so…"',
    );
  });

  it("compares tokens and costs per trial, and reads no logs that a later evaluation has replaced", async () => {
    const directory = makeFolder();
    const before = await runAgent(directory, { calls: ["refund"], ok: true });
    await runAgent(directory, { calls: ["lookup"], ok: true });
    const after = await runAgent(makeFolder(), { calls: [], ok: false });
    const comparison = await compareReports(before, after);
    expect(comparison).toMatchObject({ tokens: { before: 400, after: 200 }, costUSD: { before: 0.5, after: 0.25 } });
    expect(comparison.cases[0]).toMatchObject({ change: "worse" });
    expect(comparison.cases[0]?.difference).toBeUndefined();
    expect(toMarkdownReport(after, { comparison })).toContain("Cost of a trial: $0.5000 → $0.2500.");
  });
});
