// Logs of runs for tests and pictures of the page: an ordinary run, nested runs, and suspended, failed and crashed runs.

import { approve, defineAgentTool, type LoopOptions, memoryJournal, withRetry } from "turnwright";
import { createMockProvider, fail, type MockMessage, reasoning, text, toolCall, wait } from "turnwright/testing";
import { openStage, pricing, system, tokens, toolsOf } from "./sample-stage.ts";

const hour = 3_600_000;

const source = `export function total(prices: readonly number[]): number {
  // The sum of all prices in cents.
  let sum = 0;
  for (const price of prices) sum += price;
  return sum;
}
`;

const answers: readonly MockMessage[] = [
  [
    wait(640),
    reasoning("The customer asks for a price. I need the catalog first, and the stock at the same time."),
    wait(300),
    text("Let me look at the catalog and the stock.", { chunks: 4 }),
    toolCall("search_catalog", { query: "sencha", limit: 3, filters: { origin: ["Japan"], organic: true } }),
    toolCall("read_stock", { warehouse: "north" }),
    wait(420),
    tokens(1_840, 122, 0),
  ],
  [
    wait(410),
    text("I check how the total is computed."),
    toolCall("read_file", { path: "src/total.ts" }),
    wait(210),
    tokens(2_310, 48, 1_792),
  ],
  [
    wait(380),
    text("Sencha costs 18.50 for 100 g, and 42 bags are in stock. Two bags are 37.00 in total.", { chunks: 6 }),
    wait(900),
    tokens(2_702, 64, 2_304),
  ],
];

export async function ordinaryLog(): Promise<string> {
  const { clock, lines, run } = openStage();
  const tool = toolsOf(clock);
  await run({
    provider: withRetry(
      createMockProvider((_request, index) => {
        if (index === 1) return [wait(90), fail({ status: 529, message: "Overloaded: try again later" })];
        return answers[index === 0 ? 0 : index - 1];
      }),
      { baseDelayMs: 700, random: () => 1 },
    ),
    runId: "order-1182",
    version: "2026-11-20",
    system,
    messages: [
      { role: "user", content: "What does Sencha cost?" },
      { role: "assistant", content: [{ type: "text", text: "Do you mean the organic one?" }] },
      { role: "user", content: "Yes. What do two bags cost, and is it in stock?" },
    ],
    tools: [
      tool("search_catalog", 830, () => ({
        hits: [
          { id: "t-17", name: "Sencha Yabukita", gram: 100, price: 18.5, organic: true },
          { id: "t-21", name: "Sencha Saemidori", gram: 100, price: 24, organic: true },
        ],
        next: null,
      })),
      tool("read_stock", 260, () => ({ "t-17": 42, "t-21": 3 })),
      tool("read_file", 45, () => ({ path: "src/total.ts", content: source })),
    ],
    limits: { maxIterations: 20, maxCostUSD: 0.5, maxTokens: 100_000 },
    timeouts: { toolMs: 20_000 },
    pricing,
    session: { conversationId: "c-881", locale: "en" },
  });
  return lines.join("");
}

export async function nestedLog(): Promise<string> {
  const { clock, lines, run } = openStage();
  const tool = toolsOf(clock);
  const search = tool("search_web", 700, ({ query }) => `Three pages about ${String(query)}.`);
  const reader = defineAgentTool({
    name: "read_source",
    description: "Reads a source, and sums it up",
    inputSchema: { type: "object" },
    prepare: () => ({
      provider: createMockProvider([
        [wait(300), toolCall("search_web", { query: "source" }), tokens(700, 30, 0)],
        [wait(500), text("The source is reliable."), tokens(900, 40, 512)],
      ]),
      messages: [{ role: "user", content: "Is the source reliable?" }],
      tools: [search],
    }),
  });
  const research = defineAgentTool({
    name: "research",
    description: "Looks a question up",
    inputSchema: { type: "object" },
    prepare: (args) => ({
      provider: createMockProvider(
        [
          [wait(350), toolCall("search_web", { query: "tide tables" }), toolCall("read_source", { n: 1 }), tokens(800, 60, 0)],
          [wait(600), text("High tide is at noon, at 1.4 m."), tokens(1_400, 42, 768)],
        ],
        { model: "mock-small" },
      ),
      messages: [{ role: "user", content: JSON.stringify(args) }],
      tools: [search, reader],
    }),
  });
  await run({
    provider: createMockProvider([
      [
        wait(500),
        text("Two questions at once."),
        toolCall("research", { question: "High tide?" }),
        toolCall("research", { question: "Low tide?" }),
        tokens(500, 80, 0),
      ],
      [wait(700), text("High tide is at noon."), wait(200), tokens(900, 30, 512)],
    ]),
    runId: "tides",
    messages: [{ role: "user", content: "When is high tide, and when is low tide?" }],
    tools: [research],
    pricing,
  });
  return lines.join("");
}

/** The run waits for an approval. With `resumeAfterDays`, a person approves the call after that time. */
export async function suspendedLog(resumeAfterDays?: number): Promise<string> {
  const { clock, lines, run } = openStage();
  const tool = toolsOf(clock);
  const journal = memoryJournal();
  const options: Omit<LoopOptions, "clock"> = {
    provider: createMockProvider(({ messages }) =>
      messages.some(({ role }) => role === "tool")
        ? [wait(450), text("I have ordered two bags."), wait(200), tokens(1_300, 20, 896)]
        : [
            wait(520),
            text("May I order?"),
            toolCall("read_stock"),
            toolCall("place_order", { tea: "Sencha", bags: 2 }),
            wait(300),
            tokens(1_000, 60, 0),
          ],
    ),
    runId: "order-1183",
    journal,
    system,
    messages: [{ role: "user", content: "Order two bags of Sencha." }],
    tools: [tool("read_stock", 300, () => 42), tool("place_order", 800, () => ({ order: "o-1", total: 37 }))],
    middleware: [approve(({ name }) => ({ kind: name === "place_order" ? "ask" : "approve" }))],
    pricing,
  };
  await run(options);
  if (resumeAfterDays !== undefined) {
    await clock.advance(resumeAfterDays * 24 * hour);
    await run({ ...options, answers: { call_i0_1: { kind: "modify", args: { tea: "Sencha", bags: 1 } } } });
  }
  return lines.join("");
}

export async function failedLog(): Promise<string> {
  const { clock, lines, run } = openStage();
  const tool = toolsOf(clock);
  await run({
    provider: createMockProvider([
      [
        wait(300),
        text("I look."),
        toolCall("read_stock"),
        toolCall("remove_all"),
        toolCall("search", {}, { rawArgs: '{"query": "sen' }),
        tokens(600, 40, 0),
      ],
      [wait(400), text("The stock could not be re"), fail({ status: 401, message: "The key was refused by the service" })],
    ]),
    runId: "order-1184",
    system,
    messages: [{ role: "user", content: "Is Sencha in stock?" }],
    tools: [
      tool("search", 200, () => []),
      tool("read_stock", 500, () => {
        throw new Error("connect ECONNREFUSED 10.0.0.7:5432");
      }),
    ],
  });
  return lines.join("");
}

/** A log without its last lines, as after a crash. */
export async function crashedLog(): Promise<string> {
  const lines = (await ordinaryLog()).split("\n");
  const at = lines.findIndex((line) => line.includes('"type":"tool-end"'));
  return `${lines.slice(0, at).join("\n")}\n`;
}
