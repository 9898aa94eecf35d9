// Renders components of the page: requests, budgets and comparisons. Other tests open the whole page in a browser.

import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { build } from "esbuild";
import { Window } from "happy-dom";
import { defineTool, maskResults } from "turnwright";
import type { LoggedRun } from "turnwright/inspect";
import { createMockProvider, reasoning, text, toolCall, usage } from "turnwright/testing";
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest";
import { editAt, logEdited, type RequestEdit } from "./logged-runs.ts";

const payload = `<script>globalThis.hit = 1</script><img src=x onerror="hit = 1"><a href="javascript:hit = 1">\u202Etxt</a>`;
const shownPayload = payload.replace("\u202E", "‹U+202E›");

const window = new Window({ url: "http://page.test" });
const unobserved = class {
  observe(): void {}
  disconnect(): void {}
};
const globals = { window, document: window.document, navigator: window.navigator, ResizeObserver: unobserved };
const before = Object.keys(globals).map((name) => [name, Object.getOwnPropertyDescriptor(globalThis, name)] as const);
const folder = mkdtempSync(join(tmpdir(), "components-"));

type Show = (component: string, props: object) => void;
let show: Show;
let clear: () => void;

beforeAll(async () => {
  for (const [name, value] of Object.entries(globals))
    Object.defineProperty(globalThis, name, { value, configurable: true, writable: true });
  const names = { RequestView: "request-view", BudgetPlot: "budget-plot", CompareView: "compare-view", RunList: "run-list" };
  const imports = Object.entries(names).map(([name, file]) => `import { ${name} } from "./${file}.tsx";`);
  const contents = `${imports.join("\n")}
    import { h, render } from "preact";
    import { flushSync } from "preact/compat";
    const components = { ${Object.keys(names).join(", ")} };
    import { walkCacheBreaks } from "../analysis/find-cache-breaks.ts";
    import { CacheBreaks } from "./use-cache-breaks.ts";
    const breaksOf = ({ run }) => [...(run ? walkCacheBreaks(run) : [])].flatMap((one) => one ? [[run.iterations[one.index], one]] : []);
    export const show = (name, props) => {
      const inside = h(CacheBreaks.Provider, { value: new Map(breaksOf(props)) }, h(components[name], props));
      flushSync(() => render(inside, document.body));
    };
    export const clear = () => render(null, document.body);`;
  const { outputFiles } = await build({
    stdin: { contents, resolveDir: resolve("src/inspect/ui"), loader: "tsx" },
    ...{ bundle: true, write: false, outdir: "page", format: "esm", platform: "browser", external: ["node:*"] },
    ...{ jsx: "automatic", jsxImportSource: "preact" },
  });
  const path = join(folder, "components.mjs");
  writeFileSync(path, outputFiles.find((file) => file.path.endsWith(".js"))?.text ?? "");
  ({ show, clear } = (await import(pathToFileURL(path).href)) as { show: Show; clear: () => void });
});

afterEach(() => clear());

afterAll(async () => {
  for (const [name, descriptor] of before) {
    if (descriptor === undefined) Reflect.deleteProperty(globalThis, name);
    else Object.defineProperty(globalThis, name, descriptor);
  }
  await window.happyDOM.close();
  rmSync(folder, { recursive: true });
});

const hostile = defineTool({
  name: "hostile",
  description: payload,
  inputSchema: { type: "object", properties: { [payload]: { description: payload } } },
  execute: () => ({ [payload]: payload }),
});

function logHostile(answer: string, edit?: RequestEdit): Promise<LoggedRun> {
  const provider = createMockProvider(
    ({ iteration }) => [
      reasoning(payload),
      text(iteration < 3 ? payload : answer),
      ...(iteration < 3 ? [toolCall("hostile", { [payload]: iteration })] : []),
      usage({ inputTokens: 1_000, outputTokens: 10, cachedInputTokens: 500 }),
    ],
    { id: payload, model: payload },
  );
  const options = {
    provider,
    tools: [hostile],
    system: payload,
    messages: [{ role: "user", content: payload }] as const,
    runId: payload,
    limits: { maxTokens: 9_000 },
    middleware: [maskResults({ keepIterations: 1, minTokens: 0 })],
  };
  return logEdited(options, edit);
}

const pageText = (): string => window.document.body.textContent;
const click = (label: string): void => {
  const button = [...window.document.querySelectorAll("button")].find(({ textContent }) => textContent.includes(label));
  if (button === undefined) throw new Error(`The page has no button "${label}".`);
  button.click();
};

async function openAll(): Promise<void> {
  for (let depth = 0; depth < 4; depth += 1) {
    for (const fold of window.document.querySelectorAll("details")) {
      fold.open = true;
      fold.dispatchEvent(new window.Event("toggle"));
    }
    await Promise.resolve();
  }
}

/** Checks that no text has become an element or an attribute of the page. */
function expectOnlyTexts(): void {
  const elements = [...window.document.body.querySelectorAll("*")];
  expect(elements.filter(({ tagName }) => ["SCRIPT", "IMG", "IFRAME"].includes(tagName))).toEqual([]);
  const attributes = elements.flatMap((element) => [...element.attributes]);
  expect(attributes.filter(({ name }) => name.startsWith("on") || name === "src" || name === "style")).toEqual([]);
  expect(attributes.filter(({ name, value }) => name === "href" && value?.startsWith("#") !== true)).toEqual([]);
  expect(pageText()).not.toContain("\u202E");
  expect("hit" in globalThis).toBe(false);
}

describe("the inspect page's components", () => {
  it("show a request and the changes to the previous request as text", async () => {
    const run = await logHostile(
      payload,
      editAt(2, ({ tools }) => ({
        system: `${payload}!`,
        tools: [...tools, { name: payload, description: payload, inputSchema: {} }],
      })),
    );
    const [first, second, third] = run.iterations;
    show("RequestView", { iteration: first, previous: undefined, run });
    await openAll();
    expect(pageText()).toContain("The first request: 1 message, 1 tool");
    expectOnlyTexts();
    show("RequestView", { iteration: third, previous: second, run });
    await openAll();
    expect(pageText()).toContain("2 messages added, 1 masked, tools: 1 added, system text changed, prefix kept ");
    expect(pageText()).toContain(
      `The prompt cache broke here: the tool ${shownPayload} was added, the system text was changed and`,
    );
    expect(pageText()).toContain("The service read 500 tokens from its cache; the kept prefix has about ");
    expectOnlyTexts();
  });

  it("show a masked result next to its original", async () => {
    const run = await logHostile(payload);
    show("RequestView", { iteration: run.iterations[2], previous: run.iterations[1], run });
    await openAll();
    expect(pageText()).toContain("[Result of hostile (call call_i0_0) from iteration 0 left out");
    expect(pageText()).not.toContain("The original, from an earlier request");
    click("Show the original");
    await Promise.resolve();
    expect(pageText()).toContain(
      `The original, from an earlier request${JSON.stringify({ [payload]: payload }, undefined, 2)}`.replaceAll(
        "\u202E",
        "‹U+202E›",
      ),
    );
    expectOnlyTexts();
  });

  it("plot a run's budgets, with a table of the same numbers", async () => {
    const run = await logHostile(payload);
    show("BudgetPlot", { run });
    await openAll();
    expect(window.document.querySelectorAll("svg path")).toHaveLength(1);
    const rows = [...window.document.querySelectorAll("tbody tr")].map(({ children }) => [children[0], children[1]]);
    expect(rows.map((cells) => cells.map((cell) => cell?.textContent))).toEqual([
      ["Iteration 0", "1,010 11.2%"],
      ["Iteration 1", "2,020 22.4%"],
      ["Iteration 2", "3,030 33.7%"],
      ["Iteration 3", "4,040 44.9%"],
    ]);
    expectOnlyTexts();
  });

  it("show the differences between two runs as text", async () => {
    const system = editAt(3, () => ({ system: `${payload} Old.` }));
    const otherSystem = editAt(3, () => ({ system: `${payload} New.` }));
    const [left, right] = [await logHostile(`${payload} Yes.`, system), await logHostile(`${payload} No.`, otherSystem)];
    const linkOf = (run: LoggedRun, key: string): string => `#${run === left ? "r1" : "r2"}/${key}`;
    show("CompareView", { left, right, names: [payload, "right.jsonl"], linkOf });
    await openAll();
    expect(pageText()).toContain("Iterations 0 to 2 are the same.");
    expect(pageText()).toContain("The runs first differ at iteration 3.");
    expect([...window.document.querySelectorAll("del, ins")].map(({ textContent }) => textContent)).toEqual([
      "Old",
      "New",
      "Yes",
      "No",
    ]);
    expect(pageText()).toContain("Statuscompleted, answeredcompleted, answerednone");
    expect(pageText()).toContain("1,000 input (500 cached) and 10 output tokens");
    expect([...window.document.querySelectorAll(".columns a")].map((link) => link.getAttribute("href"))).toEqual([
      "#r1/i3",
      "#r2/i3",
    ]);
    expectOnlyTexts();
    show("CompareView", { left, right: left, names: ["left.jsonl", "again.jsonl"], linkOf });
    expect(pageText()).toContain("All 4 iterations are the same.");
  });

  it("list runs with links to comparisons", async () => {
    const runs = [await logHostile(payload), await logHostile(payload)].map((run, at) => ({
      name: `${at} ${payload}`,
      run,
      href: `#r${at}`,
    }));
    show("RunList", { runs, compareHref: (a: number, b: number) => `#compare/${a}/${b}` });
    const logs = (): readonly string[] =>
      [...window.document.querySelectorAll("tbody tr")].map(({ children }) => children[1]?.textContent.slice(0, 1) ?? "");
    expect(logs()).toEqual(["0", "1"]);
    expect(pageText()).toContain("completedanswered");
    for (let time = 0; time < 2; time += 1) {
      click("Log");
      await Promise.resolve();
    }
    expect(logs()).toEqual(["1", "0"]);
    for (const box of window.document.querySelectorAll("input")) {
      box.click();
      await Promise.resolve();
    }
    expect(window.document.querySelector(".compare a")?.getAttribute("href")).toBe("#compare/1/0");
    expectOnlyTexts();
  });
});
