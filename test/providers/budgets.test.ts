import { expect, it } from "vitest";
import {
  defineAgentTool,
  type LoopOptions,
  memoryJournal,
  type Provider,
  runToolLoop,
  withFallback,
  withRetry,
} from "turnwright";
import { withPlanner } from "turnwright/middleware";
import { createMockProvider, fail, text, toolCall, usage } from "turnwright/testing";

const messages = [{ role: "user" as const, content: "Go." }];
const tools = [{ name: "t", description: "", inputSchema: { type: "object" }, execute: () => 1 }];
/** A token costs 0.25 USD, because sums of this number have no rounding errors. */
const pricing: NonNullable<LoopOptions["pricing"]> = ({ totalTokens }) => totalTokens / 4;
const spent = (tokens: number) => usage({ inputTokens: tokens, outputTokens: 0 });
const retries = { maxAttempts: 20, baseDelayMs: 0 };

interface Stage {
  asked: number;
  readonly model: (id: string) => Provider;
}

/** Each request uses four tokens (1 USD). Then it fails, or returns no valid plan. */
function stageOf(what: "fails" | "plans nothing" = "fails"): Stage {
  const stage: Stage = {
    asked: 0,
    model: (id) =>
      createMockProvider(
        () => {
          stage.asked += 1;
          return what === "fails" ? [spent(4), fail({ status: 503, message: "Busy." })] : [text("No plan."), spent(4)];
        },
        { id, model: "m" },
      ),
  };
  return stage;
}

const rows: readonly [what: string, stage: Stage, wrap: (stage: Stage) => Provider, error: string][] = [
  ["withRetry", stageOf(), ({ model }) => withRetry(model("a"), retries), "Busy."],
  [
    "withFallback",
    stageOf(),
    ({ model }) => withFallback(Array.from({ length: 20 }, (_, index) => model(`a${index}`))),
    "3 of 20 providers failed; the last error: Busy.",
  ],
  [
    "withRetry inside withFallback",
    stageOf(),
    ({ model }) => withFallback([withRetry(model("a"), { ...retries, maxAttempts: 2 }), withRetry(model("b"), retries)]),
    "All 2 providers failed; the last error: Busy.",
  ],
  [
    "withFallback inside withRetry",
    stageOf(),
    ({ model }) => withRetry(withFallback([model("a"), model("b")]), retries),
    "Busy.",
  ],
  [
    "the retries of withPlanner",
    stageOf("plans nothing"),
    ({ model }) => withPlanner(model("a"), { planRetries: 19 }),
    "The model sent no valid plan in 3 tries",
  ],
  ["withRetry inside withPlanner", stageOf(), ({ model }) => withPlanner(withRetry(model("a"), retries)), "Busy."],
];

const budgets: readonly [what: string, limits: LoopOptions["limits"], reason: object][] = [
  ["maxTokens with no tokens left", { maxTokens: 12 }, { kind: "max-tokens", limit: 12, spent: 12 }],
  ["maxCostUSD with no money left", { maxCostUSD: 3 }, { kind: "max-cost", limitUSD: 3, spentUSD: 3, expectedUSD: 1 }],
  [
    "maxCostUSD with less money left than a request costs",
    { maxCostUSD: 3.5 },
    { kind: "max-cost", limitUSD: 3.5, spentUSD: 3, expectedUSD: 1 },
  ],
];

it.for(rows.flatMap((row) => budgets.map((budget) => [`limits.${budget[0]} stops ${row[0]}`, row, budget] as const)))(
  "%s before the next request",
  async ([, [, stage, wrap, error], [, limits, reason]]) => {
    stage.asked = 0;
    const journal = memoryJournal();
    const options: LoopOptions = { provider: wrap(stage), messages, tools, limits, pricing, journal };
    const result = await runToolLoop(options);
    expect(stage.asked).toBe(3);
    expect(result).toMatchObject({ status: "error", reason, costUSD: 3, usage: { totalTokens: 12 } });
    expect(result.streamResults[0]?.error?.message).toContain(error);
    const replayed = await runToolLoop({ ...options, journal: memoryJournal(JSON.parse(JSON.stringify(journal))) });
    expect(stage.asked).toBe(3);
    expect(replayed.reason).toEqual(result.reason);
  },
);

it("withPlanner requests only the plan if limits.maxCostUSD leaves too little money for the answer", async () => {
  let asked = 0;
  const planner = createMockProvider(() => {
    asked += 1;
    return [text('{"next_action":"response","execution_commands":[]}'), spent(8)];
  });
  const provider = withPlanner(planner, { closesEarly: false });
  const { reason } = await runToolLoop({ provider, messages, tools, pricing, limits: { maxCostUSD: 3 } });
  expect(asked).toBe(1);
  expect(reason).toEqual({ kind: "max-cost", limitUSD: 3, spentUSD: 2, expectedUSD: 2 });
});

it("withRetry inside an agent tool stops at limits.maxTokens of the outer run", async () => {
  const stage = stageOf();
  const inner = withRetry(stage.model("a"), retries);
  const agent = defineAgentTool({
    name: "agent",
    description: "",
    inputSchema: { type: "object" },
    prepare: () => ({ messages, provider: inner }),
  });
  const outer = createMockProvider([[toolCall("agent"), spent(4)], text("Done.")]);
  const { functionHistory, reason } = await runToolLoop({ provider: outer, messages, tools: [agent], limits: { maxTokens: 12 } });
  expect(stage.asked).toBe(2);
  expect(reason).toMatchObject({ kind: "max-tokens", spent: 12 });
  expect(functionHistory).toHaveLength(1);
});

it("withRetry keeps an answer that exceeds limits.maxTokens", async () => {
  const busy = fail({ status: 503, message: "Busy." });
  const provider = withRetry(
    createMockProvider([
      [spent(4), busy],
      [text("Hi."), spent(8)],
    ]),
    retries,
  );
  const { status, text: said } = await runToolLoop({ provider, messages, pricing, limits: { maxTokens: 5 } });
  expect([status, said]).toEqual(["completed", "Hi."]);
  const unknown = withRetry(
    createMockProvider(
      [
        [text(""), busy],
        [text("Hi."), spent(4)],
      ],
      { usage: false },
    ),
    retries,
  );
  expect((await runToolLoop({ provider: unknown, messages, pricing, limits: { maxCostUSD: 2 } })).status).toBe("completed");
});

it("limits.maxTokens: a run ends with provider-error if the request that reaches the limit fails", async () => {
  const stage = stageOf();
  const { reason } = await runToolLoop({ provider: stage.model("a"), messages, pricing, limits: { maxTokens: 4 } });
  expect(reason).toMatchObject({ kind: "provider-error", error: { message: "Busy." } });
});
