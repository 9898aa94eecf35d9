// The playground of the site in headless Chromium. The tests wait for content of the page, never for a fixed time.

import { once } from "node:events";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { type Browser, type BrowserContext, chromium, type FrameLocator, type Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { bundlePlayground } from "../../site/bundle-playground.ts";
import { findChromium } from "../find-chromium.ts";

let browser: Browser;
let server: Server;
let url: string;
let context: BrowserContext;
let problems: string[];
let requests: string[];

const types = { html: "text/html; charset=utf-8", css: "text/css", js: "text/javascript" };

beforeAll(async () => {
  const files = await bundlePlayground(false);
  server = createServer((request, response) => {
    const name = request.url === "/playground/" ? "index.html" : (request.url ?? "").replace("/playground/", "");
    const file = files.get(name);
    const type = types[name.split(".").at(-1) as keyof typeof types];
    response.writeHead(file === undefined ? 404 : 200, { "content-type": type }).end(file);
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/playground/`;
  // Chromium cannot start its sandbox as root, and most containers run as root.
  browser = await chromium.launch({ executablePath: findChromium() ?? "", args: ["--no-sandbox"] });
}, 60_000);

afterAll(async () => {
  await browser.close();
  server.closeAllConnections();
  server.close();
});

beforeEach(async () => {
  [problems, requests] = [[], []];
  context = await browser.newContext({ viewport: { width: 1400, height: 900 } });
  context.setDefaultTimeout(20_000);
  context.on("console", (message) => {
    if (message.type() === "error" || message.type() === "warning") problems.push(message.text());
  });
  context.on("weberror", (error) => problems.push(String(error.error())));
  context.on("request", (request) => requests.push(request.url()));
});

afterEach(() => context.close());

async function open(program?: string): Promise<Page> {
  const page = await context.newPage();
  await page.goto(url);
  if (program !== undefined) await page.getByLabel("Program").fill(program);
  return page;
}

const press = (page: Page, name: string): Promise<void> => page.getByRole("button", { name, exact: true }).click();
const shows = (page: Page | FrameLocator, text: string): Promise<void> => page.getByText(text).first().waitFor();
const story = (page: Page): Promise<string> => page.getByLabel("Story").innerText();
const runPage = (page: Page): FrameLocator => page.frameLocator("iframe");

const head = `import { defineTool } from "turnwright";
import { stall, text, toolCall } from "turnwright/testing";
export const question = "Pay my bill.";
`;

/** A tool that waits until a test calls \`release\`. */
const slowTool = `
const pay = defineTool({
  name: "pay",
  description: "Pays the bill",
  inputSchema: { type: "object" },
  execute: () => new Promise((resolve) => { globalThis.release = () => resolve("paid"); }),
});
export const tools = [pay];
export const script = [[text("I pay."), toolCall("pay")], text("It is paid.")];
`;

const release = async (page: Page): Promise<void> => {
  await page.waitForFunction(() => "release" in globalThis);
  await page.evaluate(() => (globalThis as unknown as { release(): void }).release());
};

describe("the playground", () => {
  it("runs its first program, asks for approval, and shows the run's page", async () => {
    const page = await open();
    await press(page, "Run");
    await shows(page, "The run waits for you.");
    await shows(page, 'refund {"id":"A-1042","euros":12}');
    await shows(runPage(page), "Suspended");
    await press(page, "Approve");
    await shows(page, "completed: answered");
    expect(await story(page)).toContain("You get your 12 EUR back. Sorry for the trouble!");
    await shows(runPage(page), "Completed: the model answered.");
    expect(problems).toEqual([]);
  });

  it("does not send requests except for files that belong to the page", async () => {
    const page = await open(`${head}
fetch("https://elsewhere.example/").catch(() => {});
export const script = [text("Hello.")];`);
    await press(page, "Run");
    await shows(page, "completed: answered");
    expect(
      requests.filter((request) => !request.startsWith(url) && !request.startsWith("blob:") && !request.startsWith("data:")),
    ).toEqual([]);
    expect(problems.join("\n")).toContain("Content Security Policy");
  });

  it("passes a denial to the model", async () => {
    const page = await open(`${head}
const pay = defineTool({ name: "pay", description: "Pays", inputSchema: { type: "object" }, needsApproval: true, execute: () => "paid" });
export const tools = [pay];
export const script = [toolCall("pay"), text("Then I do not pay.")];`);
    await press(page, "Run");
    await press(page, "Deny");
    await shows(page, "completed: answered");
    expect(await story(page)).toContain("[pay: denied]");
    expect(problems).toEqual([]);
  });

  it("answers a tool's question and then a wait", async () => {
    const page = await open(`import { ask } from "turnwright";
${head}
const pay = defineTool({
  name: "pay",
  description: "Pays",
  inputSchema: { type: "object" },
  durable: true,
  async execute(_args, context) {
    const card = await ask(context, { question: "Which card?" });
    const { ok } = await context.wait("check", { card });
    return card + " " + ok;
  },
});
export const tools = [pay];
export const script = [toolCall("pay"), text("It is paid.")];`);
    await press(page, "Run");
    await shows(page, "Which card?");
    await page.getByLabel("Answer").fill("the blue one");
    await press(page, "Answer");
    await page.getByText("waits for: answer").waitFor();
    await page.getByLabel("Answer").fill('{"ok":true}');
    await press(page, "Answer");
    await shows(page, "completed: answered");
    await runPage(page).getByText("the blue one true").first().waitFor({ state: "attached" });
    expect(problems).toEqual([]);
  });

  it("stops a run whose model is silent", async () => {
    const page = await open(`${head}export const script = [[text("Well..."), stall()]];`);
    await press(page, "Run");
    await shows(page, "Well...");
    await shows(runPage(page), "Running: the log has no end yet.");
    await press(page, "Stop");
    await shows(page, "stopped-by-user: stopped");
    await shows(runPage(page), "Stopped");
    expect(problems).toEqual([]);
  });

  it("sends a message to a running loop", async () => {
    const page = await open(`${head}${slowTool}`);
    await press(page, "Run");
    await shows(page, "[pay {}]");
    await page.getByLabel("Message to the model").fill("In euros, please.");
    await press(page, "Steer");
    await release(page);
    await shows(page, "completed: answered");
    expect(await story(page)).toContain("[The model reads your message.]");
    await runPage(page).getByText("In euros, please.").first().waitFor({ state: "attached" });
    expect(problems).toEqual([]);
  });

  it("continues a run after a reload, and does not run any tool twice", async () => {
    const page = await open(`${head}
const count = Number(sessionStorage.getItem("count"));
const pay = defineTool({
  name: "pay",
  description: "Pays the bill",
  inputSchema: { type: "object" },
  execute: () => sessionStorage.setItem("count", String(count + 1)),
});
export const tools = [pay];
export const script = [toolCall("pay"), count === 0 ? [text("Well..."), stall()] : text("It is paid.")];`);
    await press(page, "Run");
    await shows(page, "Well...");
    await page.reload();
    await shows(page, "A run was cut off when this page was closed.");
    await press(page, "Go on");
    await shows(page, "completed: answered");
    expect(await story(page)).toContain("[pay: completed, from the journal]");
    expect(await story(page)).toContain("It is paid.");
    expect(await page.evaluate(() => sessionStorage.getItem("count"))).toBe("1");
    await shows(runPage(page), "Completed: the model answered.");
    await page.reload();
    await page.getByRole("button", { name: "Run" }).waitFor();
    expect(await page.getByText("A run was cut off").count()).toBe(0);
    expect(problems).toEqual([]);
  });

  it("explains what is wrong with a program", async () => {
    const page = await open("export const script = [;");
    await press(page, "Run");
    await shows(page, "SyntaxError");
    await page
      .getByLabel("Program")
      .fill('import { defineTool } from "turnwright";\nexport const tools = [defineTool({ name: "pay" })];');
    await press(page, "Run");
    await shows(page, 'Tool "pay"');
  });
});
