import { createHash } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { Window } from "happy-dom";
import { defineEvaluation, evaluate, type Evaluation, renderEvalPage, toJUnitReport, toMarkdownReport } from "turnwright/evals";
import { describe, expect, it } from "vitest";
import { makeFolder } from "../journal/folder.ts";
import { hostile, linkOf, mixed, openPage, run, runAgent, scripted, textsOf } from "./scripted.ts";

it("all reports warn if no check can fail a case", async () => {
  const warn = async (check: () => ReturnType<Evaluation["check"]>) => {
    const report = await evaluate(defineEvaluation({ ...scripted({ a: ["pass"], b: ["pass"] }), check }));
    const page = openPage(renderEvalPage(report));
    const shown = [toMarkdownReport(report), toJUnitReport(report), page.body.textContent ?? ""];
    expect(shown.map((text) => text.includes("No check can fail"))).toEqual(shown.map(() => report.warnings.length > 0));
    return [report.ok, ...report.warnings.map((text) => text.slice(0, 31))];
  };
  expect(await warn(() => undefined)).toEqual([true, "No check can fail any case: che"]);
  expect(await warn(() => ({ polite: 0.2 }))).toHaveLength(2);
  expect(await warn(() => true)).toEqual([true]);
  expect(await warn(() => ({ polite: { score: 0.2, min: 0.1 } }))).toEqual([true]);
  // An assertion that fails shows that the others work.
  const asserting = scripted({ a: ["pass"], b: ["fail"] });
  const report = await evaluate({
    ...asserting,
    check: (passed) => {
      if (!passed) throw new Error("expected a refund");
    },
  });
  expect(report.warnings).toEqual([]);
});

describe("toMarkdownReport", () => {
  it("lists failed and flaky cases first, with rates, costs and reasons", async () => {
    const { cases, totals, ...head } = await run(mixed);
    const spent = { tokens: 700, inputTokens: 600, cachedTokens: 420, costUSD: 3.5 };
    const markdown = toMarkdownReport({ ...head, durationMs: 1_250, cases, totals: { ...totals, ...spent } });
    const rows = markdown.split("\n").filter((line) => line.startsWith("| "));
    expect(markdown.split("\n")[0]).toBe("## ✗ `support` failed: 1 of 4 cases passed, 4 trials with an error");
    expect(markdown).toContain("6 trials: 50% (18.8% to 81.2%) passed");
    expect(markdown).toContain("700 tokens, 70% of the input from the cache · $3.50 · 1.25 s");
    expect(rows.slice(2).map((row) => row.split(" | ").slice(1))).toEqual([
      ["failed, flaky", "1/2", "50% (9.45% to 90.5%)", "0", "$0.0000 |"],
      expect.arrayContaining(["failed", "0/2", "0% (0% to 65.8%)"]) as unknown,
      ["error", "0/0", "no trial", "0", "$0.0000 |"],
      ["passed", "2/2", "100% (34.2% to 100%)", "0", "$0.0000 |"],
    ]);
    expect(markdown).toContain("Flaky: `flaky`");
    expect(markdown).toMatch(/^- `flaky\/2` `refunded`: ``<img/m);
    expect(markdown).toMatch(/^- `outage\/1` x4 \*\*error\*\*: /m);
    expect(markdown).toContain("Mean scores: `polite 0.5`");
  });

  it("shows untrusted text as code, on one line, with escaped cells", async () => {
    const markdown = toMarkdownReport(await run({ [hostile]: ["fail"] }));
    const row = markdown.split("\n").find((line) => line.startsWith("| ``<img"));
    expect(row?.replaceAll("\\|", "").split("|")).toHaveLength(8);
    for (const line of markdown.split("\n")) expect(line.replace(/``.*?``/g, "")).not.toMatch(/<img|@octocat/);
    expect(markdown).toContain("‹U+001B›[2J‹U+202E›");
  });

  it("shows the question and the answer of a failed trial, shortened and without credentials", async () => {
    const secret = `sk-${"a1B2".repeat(12)}`;
    const message = `${secret} ${"and so on ".repeat(200)}`;
    const report = await runAgent(makeFolder(), { calls: [], ok: false, message, answer: hostile });
    const markdown = toMarkdownReport(report);
    expect(markdown).toContain("- `order/1` `check`\n  - asked: `[redacted] and so on");
    expect(markdown).toMatch(/^ {2}- answered: ``<img/m);
    expect(markdown.length).toBeLessThan(2_000);
    const page = openPage(renderEvalPage(report));
    expect(textsOf(page, ".reasons li")).toEqual(["check"]);
    expect(textsOf(page, ".card dt").slice(-2)).toEqual(["Asked", "Answered"]);
    expect(`${markdown}${JSON.stringify(report.cases[0]?.trials)}`).not.toContain(secret);
  });

  it("starts with one overall verdict for several evaluations", async () => {
    const [good, bad] = [await run({ a: ["pass"] }), { ...(await run({ a: ["fail"] })), name: "other" }];
    expect(toMarkdownReport([good, bad]).split("\n")[0]).toBe("**✗ 1 of 2 evaluations failed:** `other`");
    expect(toMarkdownReport([good, good]).split("\n")[0]).toBe("**✓ All 2 evaluations passed.**");
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
  it("has a test for each case, and separates failures from errors", async () => {
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
      "1 of 2 trials failed (50%)",
      "2 of 2 trials failed (100%)",
    ]);
    expect(find("failure")[0]?.textContent).toContain("trial 2: refunded: <img src=x");
    const rates = find("testcase property[name=passRate]").map((one) => one.getAttribute("value"));
    expect(rates).toEqual(["1", "0.5", "0"]);
  });

  it("shows the failed trials of a case that has passed", async () => {
    const { find } = parseXml(toJUnitReport(await run({ a: ["pass", "fail"], b: ["pass", "pass"] }, { passRate: 0.5 })));
    expect(find("failure")).toEqual([]);
    expect(find("system-out").map(({ parentElement }) => parentElement?.getAttribute("name"))).toEqual(["a"]);
    expect(find("system-out")[0]?.textContent).toContain("trial 2: refunded: <img src=x");
  });

  it("is well-formed for any text", async () => {
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

describe("renderEvalPage", () => {
  it("shows each trial with its checks, ending, cost and a link to its page", async () => {
    const directory = makeFolder();
    const report = await runAgent(directory, { calls: ["refund"], ok: false });
    const folder = join(directory, "agent");
    const trial = report.cases[0]?.trials[0];
    expect(trial?.page).toBe(join(folder, "cases", "order", "1", "page.html"));
    expect(readFileSync(join(folder, linkOf(openPage(renderEvalPage(report)))), "utf8")).toContain("Refund my order");
    expect(renderEvalPage(report)).toContain("If you move this page, move cases/order/1/page.html with it.");
    // `evaluate` writes the page too.
    expect(readFileSync(join(folder, "report.html"), "utf8")).toBe(renderEvalPage(report));
    const page = openPage(renderEvalPage(report));
    expect(textsOf(page, "button.trial")).toEqual(["✗"]);
    expect(page.querySelector("button.trial")?.getAttribute("popovertarget")).toBe(page.querySelector(".card")?.id);
    expect(textsOf(page, ".card .checks li")).toEqual(["✗ check"]);
    expect(textsOf(page, ".card dd").slice(0, 3)).toEqual(["answered", "400 tokens", "$0.5000"]);
    expect(linkOf(page)).toBe("cases/order/1/page.html");
    const elsewhere = openPage(renderEvalPage(report, { folder: join(directory, "out") }));
    expect(linkOf(elsewhere)).toBe("no link");
    expect(textsOf(elsewhere, ".card code")).toEqual(["../agent/cases/order/1/page.html"]);
    const moved = openPage(renderEvalPage(report, { folder: dirname(directory) }));
    expect(existsSync(join(dirname(directory), linkOf(moved)))).toBe(true);
    expect(textsOf(page, ".facts")[0]).toContain("400 tokens, 50% of the input from the cache · $0.5000");
  });

  it("shows untrusted text as plain text, and allows only its own script and style", async () => {
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
