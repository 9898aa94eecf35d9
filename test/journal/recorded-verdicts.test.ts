import { describe, expect, it } from "vitest";
import {
  approve,
  type Approve,
  defineAgentTool,
  defineTool,
  gateTools,
  type LoopOptions,
  type LoopResult,
  memoryJournal,
  type SavedJournal,
  type Tool,
} from "turnwright";
import { createMockProvider, type MockMessage, text, toolCall } from "turnwright/testing";
import { question } from "../loop/nested/nesting.ts";
import { answersOf, outcomesOf } from "../loop/play.ts";
import { createLives, keepings, plainOf, playAgain } from "./keepings.ts";

type Schema = "sync" | "async";

interface Shop {
  readonly tools: readonly Tool[];
  readonly ran: unknown[];
  /** `fits` decides if the arguments are valid. Tests change `fits` and `schema` between processes. */
  readonly mind: { fits: boolean; schema: Schema };
}

function openShop({ mind, isAgent = false }: { readonly mind: Shop["mind"]; readonly isAgent?: boolean }): Shop {
  const ran: unknown[] = [];
  const validate = (value: unknown): unknown => {
    const isFree = mind.fits && !JSON.stringify(value).includes("never");
    const answer = isFree ? { value } : { issues: [{ message: "taken" }] };
    return mind.schema === "sync" ? answer : Promise.resolve(answer);
  };
  const inputSchema = {
    "~standard": { version: 1, vendor: "test", validate, jsonSchema: { input: () => ({ type: "object" }) } },
  };
  const traits = { name: "order", description: "Orders", inputSchema: inputSchema as never };
  const order = isAgent
    ? defineAgentTool({
        ...traits,
        prepare: (args) => {
          ran.push(args);
          return { messages: question, provider: createMockProvider([text("ordered")]) };
        },
        toResult: (result) => result.text,
      })
    : defineTool({ ...traits, execute: (args: unknown) => (ran.push(args), "ordered") });
  return { tools: [order], ran, mind };
}

const turns: readonly MockMessage[] = [[toolCall("order", { id: "A1" })], text("Done.")];
const schemas: readonly Schema[] = ["sync", "async"];
const changes = schemas.flatMap((before) => schemas.map((after) => ({ before, after })));

describe.for(keepings)("a replay from %s", ([, make]) => {
  it.for(changes)(
    "keeps a valid call valid even if the schema now rejects the call (old schema: $before, new schema: $after)",
    async ({ before, after }) => {
      for (const isAgent of [false, true]) {
        const { tools, ran, mind } = openShop({ mind: { fits: true, schema: before }, isAgent });
        const open = make();
        const live = createLives(open, tools);
        const first = await live(turns);
        expect([answersOf(first.result).map(({ result }) => result), ran.length]).toEqual([["ordered"], 1]);
        Object.assign(mind, { fits: false, schema: after });
        expect(plainOf((await live([])).result)).toEqual(plainOf(first.result));
        expect(plainOf((await live([], { journal: playAgain(open) })).result)).toEqual(plainOf(first.result));
        expect(ran.length).toBe(1);
      }
    },
  );

  it.for(changes)(
    "keeps an invalid call invalid even if the schema now accepts the call (old schema: $before, new schema: $after)",
    async ({ before, after }) => {
      for (const isAgent of [false, true]) {
        const { tools, ran, mind } = openShop({ mind: { fits: false, schema: before }, isAgent });
        const open = make();
        const live = createLives(open, tools);
        const first = await live(turns);
        expect(outcomesOf(first.result)).toEqual(["call_i0_0: invalid-input"]);
        Object.assign(mind, { fits: true, schema: after });
        expect(plainOf((await live([])).result)).toEqual(plainOf(first.result));
        expect(plainOf((await live([], { journal: playAgain(open) })).result)).toEqual(plainOf(first.result));
        expect(ran).toEqual([]);
      }
    },
  );

  it.for(changes)(
    "keeps the validation result for edited arguments even if the schema now gives a different result (old schema: $before, new schema: $after)",
    async (schema) => {
      for (const id of ["B2", "never"]) {
        const policy: Approve = () => ({ kind: "modify", args: { id } });
        const { tools, ran, mind } = openShop({ mind: { fits: true, schema: schema.before } });
        const open = make();
        const live = createLives(open, tools, { middleware: [approve(policy)] });
        const first = await live(turns);
        const isFit = id === "B2";
        expect([outcomesOf(first.result), ran.length]).toEqual([
          [`call_i0_0: ${isFit ? "completed" : "invalid-input"}`],
          isFit ? 1 : 0,
        ]);
        Object.assign(mind, { fits: !isFit, schema: schema.after });
        expect(plainOf((await live([])).result)).toEqual(plainOf(first.result));
        expect(plainOf((await live([], { journal: playAgain(open) })).result)).toEqual(plainOf(first.result));
      }
    },
  );
});

describe("a valid call that has not run when its run resumes", () => {
  const cutBefore = async (result: LoopResult, key: string): Promise<ReturnType<typeof memoryJournal>> => {
    const { steps }: SavedJournal = JSON.parse(JSON.stringify(result.journal));
    const kept = Object.entries(steps);
    const end = kept.findIndex(([one]) => one === key);
    return memoryJournal({ steps: Object.fromEntries(kept.slice(0, end)) });
  };

  it.for([
    { isAgent: false, key: "i0/call/0/order/outcome" },
    { isAgent: true, key: "i0/call/0/order/begun" },
  ])("does not run if the schema now rejects its arguments (journal key: $key)", async ({ isAgent, key }) => {
    const { tools, ran, mind } = openShop({ mind: { fits: true, schema: "sync" }, isAgent });
    const live = createLives(memoryJournal, tools);
    const first = await live(turns);
    const journal = await cutBefore(first.result, key);
    mind.fits = false;
    const again = await live([text("Sorry.")], { journal });
    expect([outcomesOf(again.result), ran.length]).toEqual([["call_i0_0: invalid-input"], 1]);
  });

  it("does not run after an approval if the schema now rejects its arguments", async () => {
    const asked: unknown[] = [];
    const { tools, ran, mind } = openShop({ mind: { fits: true, schema: "sync" } });
    const policy: Approve = ({ args }) => (asked.push(args), { kind: "approve" });
    const live = createLives(memoryJournal, tools, { middleware: [approve(policy)] });
    const first = await live(turns);
    const journal = await cutBefore(first.result, "i0/call/0/order/@approve/decision");
    mind.fits = false;
    const again = await live([text("Sorry.")], { journal });
    expect([outcomesOf(again.result), ran.length, asked.length]).toEqual([["call_i0_0: invalid-input"], 1, 2]);
  });
});

it("a call with invalid arguments adds no journal step", async () => {
  const { tools, mind } = openShop({ mind: { fits: false, schema: "sync" } });
  const journal = memoryJournal();
  await createLives(() => journal, tools)(turns);
  expect([journal.keys(), mind.fits]).toEqual([
    ["run", "begin", "i0/request/model", "i0/next", "i1/request/model", "i1/answered"],
    false,
  ]);
});

describe("calls that are blocked, unknown, malformed or invalid", () => {
  const jsonSchema = { input: () => ({ type: "object" }) };
  const validate = (): unknown => ({ issues: [{ message: "no", path: ["n"] }] });
  const strict = { "~standard": { version: 1, vendor: "test", validate, jsonSchema } };
  const gated = (...allowedNames: string[]): Partial<LoopOptions> => ({
    middleware: [gateTools({ active: true, allowedNames })],
  });
  const asked: readonly MockMessage[] = [
    [
      toolCall("look"),
      toolCall("nope"),
      toolCall("strict", { n: "1" }),
      toolCall("look", {}, { rawArgs: "{" }),
      toolCall("other"),
    ],
    text("Done."),
  ];
  const openTools = (): { tools: readonly Tool[]; ran: string[] } => {
    const ran: string[] = [];
    const make = (name: string, inputSchema: unknown): Tool =>
      defineTool({ name, description: name, inputSchema: inputSchema as never, execute: () => (ran.push(name), name) });
    return { tools: [make("look", { type: "object" }), make("strict", strict), make("other", { type: "object" })], ran };
  };

  it("are stored in the record of the model stream, with the kind of each problem", async () => {
    const journal = memoryJournal();
    await createLives(() => journal, openTools().tools, gated("look", "nope", "strict"))(asked);
    const { steps } = JSON.parse(JSON.stringify(journal)) as { steps: { [key: string]: { refusals?: unknown } } };
    expect(steps["i0/request/model"]?.refusals).toMatchObject([
      { call: { callId: "call_i0_1" }, kind: "unknown-tool", known: ["look", "strict", "other"] },
      { call: { callId: "call_i0_2" }, kind: "invalid-input", issues: [{ path: ["n"] }] },
      { call: { callId: "call_i0_3" }, kind: "malformed", message: expect.any(String) },
      { call: { callId: "call_i0_4" }, kind: "blocked", allowed: ["look", "nope", "strict"] },
    ]);
    const before = ["run", "begin", "i0/request/model"];
    const after = ["i0/next", "i1/request/model", "i1/answered"];
    expect(Object.keys(steps)).toEqual([...before, "i0/call/0/look/outcome", ...after]);
  });

  it.for(keepings)("keep their outcomes in a replay with different gateTools middleware (%s)", async ([, make]) => {
    const { tools, ran } = openTools();
    const open = make();
    const live = createLives(open, tools);
    const first = await live(asked, gated("look", "nope", "strict"));
    expect(outcomesOf(first.result).at(-1)).toBe("call_i0_4: blocked");
    for (const gate of [gated("other"), gated("look", "nope", "strict", "other"), {}]) {
      expect(plainOf((await live([], gate)).result)).toEqual(plainOf(first.result));
    }
    expect(ran).toEqual(["look"]);
  });

  it("are blocked if gateTools in the resumed run blocks them, even after an approval", async () => {
    const { tools, ran } = openTools();
    const questions: string[] = [];
    const middleware = [approve(({ name }: { name: string }) => (questions.push(name), { kind: "approve" as const }))];
    const first = await createLives(memoryJournal, tools)([toolCall("look"), text("Done.")], { middleware });
    const { steps }: SavedJournal = JSON.parse(JSON.stringify(first.result.journal));
    const kept = Object.entries(steps).filter(([key]) => /^(run|begin|i0\/request\/model)$/.test(key));
    const journal = memoryJournal({ steps: Object.fromEntries(kept) });
    const shut = { middleware: [...middleware, ...(gated("other").middleware ?? [])] };
    const again = await createLives(() => journal, tools)([text("Sorry.")], shut);
    expect([outcomesOf(again.result), ran, questions]).toEqual([["call_i0_0: blocked"], ["look"], ["look", "look"]]);
  });
});
