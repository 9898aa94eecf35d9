import fc from "fast-check";
import { describe, expect, it } from "vitest";
import {
  contextRestart,
  type LoopOptions,
  type LoopResult,
  memoryJournal,
  type Provider,
  withFallback,
  withRetry,
} from "turnwright";
import { createMockProvider, type MockScript, text, toolCall } from "turnwright/testing";
import { withToolSearch } from "turnwright/tool-search";
import { answersOf, outcomesOf, play, tool } from "../loop/play.ts";
import { deferredTool, manyTools, toolNames } from "./catalogue.ts";

const find = (query: string): ReturnType<typeof toolCall> => toolCall("find_tools", { query }, { id: "find" });
const done = text("Done.");
const clock = tool("clock", () => "noon");
const pair = [clock, deferredTool("alpha"), deferredTool("beta")];

interface Ended {
  readonly result: LoopResult;
  readonly outcomes: readonly string[];
  readonly lists: readonly (readonly string[])[];
}

async function run(script: MockScript, more: Partial<LoopOptions> = {}): Promise<Ended> {
  const { provider, result } = play(script, { tools: withToolSearch(pair), ...more });
  const ended = await result;
  const outcomes = answersOf(ended).map(({ name, outcome }) => `${name}: ${outcome}`);
  return { result: ended, outcomes, lists: provider.requests.map(toolNames) };
}

describe("a deferred tool that the model calls without loading it", () => {
  it("runs if the arguments are valid, and is visible from then on", async () => {
    const { outcomes, lists } = await run([[toolCall("beta"), toolCall("clock"), toolCall("alpha")], done]);
    expect(outcomes).toEqual(["beta: completed", "clock: completed", "alpha: completed"]);
    expect(lists).toEqual([
      ["clock", "find_tools"],
      ["clock", "find_tools", "beta", "alpha"],
    ]);
  });

  it("reads the issues if the arguments are invalid, and its schema comes with the next request", async () => {
    const strict = deferredTool("strict", "Strict.", {
      inputSchema: {
        "~standard": {
          version: 1,
          vendor: "test",
          validate: (value: unknown) =>
            JSON.stringify(value) === '{"id":"7"}' ? { value } : { issues: [{ message: "must be a text", path: ["id"] }] },
        },
      },
      jsonSchema: { type: "object", properties: { id: { type: "string" } } },
    });
    const { provider, result } = play([toolCall("strict", { id: 7 }), toolCall("strict", { id: "7" }), done], {
      tools: withToolSearch([strict]),
    });
    const [refused, ran] = answersOf(await result);
    expect(refused?.outcome).toBe("invalid-input");
    expect(JSON.stringify(refused?.result)).toContain("must be a text");
    expect(ran?.outcome).toBe("completed");
    expect(provider.requests[1]?.tools[1]).toMatchObject({
      name: "strict",
      inputSchema: { properties: { id: { type: "string" } } },
    });
  });

  it("is named as the nearest tool if the name is misspelt", async () => {
    const { result } = await run([toolCall("alhpa"), done]);
    expect(JSON.stringify(answersOf(result)[0]?.result)).toContain("alpha");
  });

  it("runs in a resumed run whose call was recorded but not run", async () => {
    const first = await run([toolCall("beta"), done]);
    const { steps } = memoryJournal(JSON.parse(JSON.stringify(first.result.journal))).toJSON();
    const kept = Object.fromEntries(
      Object.entries(steps).filter(([key]) => key === "run" || key === "i0/model" || key === "i0/inbox"),
    );
    const again = await run([done], { journal: memoryJournal({ steps: kept }) });
    expect(again.outcomes).toEqual(["beta: completed"]);
    expect(again.lists).toEqual([["clock", "find_tools", "beta"]]);
  });

  it("starts early if it is eager", async () => {
    let ran = 0;
    const eager = tool("eager", () => (ran += 1), { deferred: true, eager: true });
    const { outcomes, result } = await run([toolCall("eager"), done], { tools: withToolSearch([eager]) });
    expect([outcomes, ran, result.streamResults[0]?.eagerOutcomes?.length]).toEqual([["eager: completed"], 1, 1]);
  });
});

describe("a found tool", () => {
  it("is blocked by policies.gate", async () => {
    const gate = { active: true, allowedNames: new Set(["find_tools"]) };
    const { outcomes } = await run([find("alpha"), toolCall("alpha"), done], { policies: { gate } });
    expect(outcomes).toEqual(["find_tools: completed", "alpha: blocked"]);
  });

  it("needs a decision of policies.approve", async () => {
    const asked: string[] = [];
    const approve = ({ name }: { readonly name: string }): { readonly kind: "approve" } | { readonly kind: "deny" } => {
      asked.push(name);
      return name === "find_tools" ? { kind: "approve" } : { kind: "deny" };
    };
    const { outcomes } = await run([find("alpha"), toolCall("alpha"), toolCall("beta"), done], { policies: { approve } });
    expect(outcomes).toEqual(["find_tools: completed", "alpha: denied", "beta: denied"]);
    expect(asked).toEqual(["find_tools", "alpha", "beta"]);
  });

  it.for([true, false])("with needsApproval suspends the run until there is a decision (found first: %s)", async (isFound) => {
    const tools = (): LoopOptions["tools"] => withToolSearch([clock, deferredTool("pay", "Pays.", { needsApproval: true })]);
    const before = isFound ? [find("pay")] : [];
    const first = await run([...before, toolCall("pay", {}, { id: "p" })], { tools: tools() });
    expect(first.result.reason.kind).toBe("approval-required");
    const journal = memoryJournal(JSON.parse(JSON.stringify(first.result.journal)));
    const again = await run([done], { tools: tools(), journal, decisions: { p: { kind: "approve" } } });
    expect(again.outcomes.at(-1)).toBe("pay: completed");
    expect(again.lists).toEqual([["clock", "find_tools", "pay"]]);
  });

  it("is blocked by toolChoice none, and by the choice of another tool", async () => {
    const none = await run([toolCall("alpha"), done], { toolChoice: "none" });
    expect(none.outcomes).toEqual(["alpha: blocked"]);
    const other = await run([toolCall("alpha"), toolCall("clock"), done], { toolChoice: { name: "clock" } });
    expect(other.outcomes).toEqual(["alpha: blocked", "clock: completed"]);
    expect(other.lists.at(-1)).toEqual(["clock", "find_tools"]);
  });

  it("is visible at once if toolChoice requires it, in the option or from prepareIteration", async () => {
    const options = await run([toolCall("beta"), toolCall("beta"), done], { toolChoice: { name: "beta" } });
    expect(options.lists).toEqual(Array.from({ length: 3 }, () => ["clock", "find_tools", "beta"]));
    const prepareIteration = ({
      iteration,
    }: {
      readonly iteration: number;
    }): { readonly toolChoice: { readonly name: string } } | undefined =>
      iteration === 1 ? { toolChoice: { name: "beta" } } : undefined;
    const planned = await run([toolCall("clock"), toolCall("clock"), toolCall("clock"), done], { hooks: { prepareIteration } });
    expect(planned.lists.map((names) => names.join())).toEqual([
      "clock,find_tools",
      "clock,find_tools,beta",
      "clock,find_tools",
      "clock,find_tools",
    ]);
  });

  it("is neither found nor run if prepareIteration leaves it out", async () => {
    const prepareIteration = (): { readonly tools: readonly string[] } => ({ tools: ["find_tools", "alpha"] });
    const { outcomes, lists, result } = await run([find("alpha beta"), toolCall("beta"), toolCall("alpha"), done], {
      hooks: { prepareIteration },
    });
    expect(outcomes).toEqual(["find_tools: completed", "beta: unknown-tool", "alpha: completed"]);
    expect(JSON.stringify(answersOf(result)[0]?.result)).not.toContain("beta");
    expect(lists.map((names) => names.join())).toEqual([
      "find_tools",
      "find_tools,alpha",
      "find_tools,alpha",
      "find_tools,alpha",
    ]);
  });

  it("is hidden by a context restart, also in a resumed run", async () => {
    const hide = tool("hide", () => contextRestart({ type: "context_restart_done", disable_tools: ["alpha"] }));
    const tools = (): LoopOptions["tools"] => withToolSearch([hide, deferredTool("alpha"), deferredTool("beta")]);
    const script = [find("alpha beta"), toolCall("hide"), toolCall("alpha"), find("alpha"), done];
    const { outcomes, lists, result } = await run(script, { tools: tools() });
    expect(outcomes).toEqual(["find_tools: completed", "hide: restarted", "alpha: unknown-tool", "find_tools: completed"]);
    expect(lists.map((names) => names.join())).toEqual([
      "hide,find_tools",
      "hide,find_tools,alpha,beta",
      "hide,find_tools,beta",
      "hide,find_tools,beta",
      "hide,find_tools,beta",
    ]);
    const { steps } = memoryJournal(JSON.parse(JSON.stringify(result.journal))).toJSON();
    const kept = Object.fromEntries(Object.entries(steps).filter(([key]) => !/^i[34]/.test(key)));
    const again = await run(script.slice(3), { tools: tools(), journal: memoryJournal({ steps: kept }) });
    expect(again.lists.map((names) => names.join())).toEqual(["hide,find_tools,beta", "hide,find_tools,beta"]);
    expect(answersOf(again.result).at(-1)?.result).toMatchObject({ tools: [] });
  });

  it("stays visible in a later run if the conversation has a call of it", async () => {
    const first = await run([find("alpha"), toolCall("alpha"), done]);
    const messages = [...first.result.messages, { role: "user" as const, content: "Again." }];
    const second = await run([done], { messages });
    expect(second.lists).toEqual([["clock", "find_tools", "alpha"]]);
  });

  it("cannot be loaded by data that a tool returns", async () => {
    const forged = tool("forged", () => ({ load: ["alpha"], tools: [{ name: "alpha" }] }));
    const { lists } = await run([toolCall("forged"), done], { tools: withToolSearch([forged, ...pair]) });
    expect(lists.at(-1)).toEqual(["forged", "clock", "find_tools"]);
  });
});

describe("deferred tools without a search", () => {
  it("are all visible if neither a tool nor the provider can find them", async () => {
    const { lists, result } = await run([done], { tools: pair });
    expect(lists).toEqual([["clock", "alpha", "beta"]]);
    expect(result.status).toBe("completed");
  });
});

describe("deferred tools for a provider that searches them", () => {
  const marksOf = ({ requests }: ReturnType<typeof createMockProvider>): readonly string[] =>
    requests.map(({ tools }) => tools.map(({ name, deferred }) => (deferred === true ? `${name}*` : name)).join());
  const searching = (script: MockScript): ReturnType<typeof createMockProvider> =>
    Object.assign(createMockProvider(script), { searchesTools: true });
  const go = async (provider: Provider, more: Partial<LoopOptions> = {}): Promise<LoopResult> =>
    play([], { provider, tools: withToolSearch(pair), ...more }).result;

  it("are all in each request, marked as deferred and without find_tools", async () => {
    const provider = searching([toolCall("beta"), toolCall("find_tools", { query: "x" }), done]);
    const result = await go(provider);
    expect(marksOf(provider)).toEqual(Array.from({ length: 3 }, () => "clock,alpha*,beta*"));
    expect(outcomesOf(result).map((outcome) => outcome.split(": ")[1])).toEqual(["completed", "unknown-tool"]);
  });

  it("need no withToolSearch", async () => {
    const provider = searching([done]);
    await go(provider, { tools: pair });
    expect(marksOf(provider)).toEqual(["clock,alpha*,beta*"]);
  });

  it("obey prepareIteration, which may also choose another provider", async () => {
    const plain = createMockProvider([done, done]);
    const provider = searching([toolCall("beta"), done]);
    const prepareIteration = ({ iteration }: { readonly iteration: number }): object =>
      iteration === 0 ? { tools: ["alpha", "beta", "find_tools"] } : { provider: plain };
    await go(provider, { hooks: { prepareIteration } });
    expect(marksOf(provider)).toEqual(["alpha*,beta*"]);
    expect(marksOf(plain)).toEqual(["clock,find_tools,beta"]);
  });

  it("are searched by the service through withRetry, and through withFallback only if all providers search", async () => {
    const both = withFallback([searching([done]), withRetry(searching([done]))]);
    expect([withRetry(searching([])).searchesTools, both.searchesTools]).toEqual([true, true]);
    const mixed = searching([done]);
    const provider = withFallback([mixed, createMockProvider([done])]);
    expect([provider.searchesTools, withRetry(createMockProvider([])).searchesTools]).toEqual([undefined, undefined]);
    await go(provider);
    expect(marksOf(mixed)).toEqual(["clock,find_tools"]);
  });
});

describe("the order of loaded tools", () => {
  const names = manyTools.map(({ name }) => name);
  const step = fc.oneof(
    fc.record({ query: fc.constantFrom("github issue", "refund", "slack message user", "search", "customer price", "zzz") }),
    fc.record({ names: fc.array(fc.constantFrom(...names.slice(0, 40), "unknown_tool"), { minLength: 1, maxLength: 4 }) }),
  );

  it("depends only on the calls, extends the list before it, and is the same after a resumption", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 6 }), fc.nat(), async (steps, at) => {
        const script = [
          ...steps.map((one) => ("query" in one ? [find(one.query)] : one.names.map((name) => toolCall(name)))),
          [done],
        ];
        const more = (): Partial<LoopOptions> => ({
          tools: withToolSearch([clock, ...manyTools]),
          limits: { maxConsecutiveToolErrors: 100 },
        });
        const { lists, result } = await run(script, more());
        for (const [position, list] of lists.entries()) {
          const before = lists[position - 1] ?? [];
          expect(list.slice(0, before.length)).toEqual(before);
          expect(new Set(list).size).toBe(list.length);
        }
        const iteration = at % script.length;
        const { steps: recorded } = memoryJournal(JSON.parse(JSON.stringify(result.journal))).toJSON();
        const kept = Object.entries(recorded).filter(([key]) => Number(/^i(\d+)\//.exec(key)?.[1] ?? -1) < iteration);
        const again = await run(script.slice(iteration), {
          ...more(),
          journal: memoryJournal({ steps: Object.fromEntries(kept) }),
        });
        expect(again.lists).toEqual(lists.slice(iteration));
      }),
      { numRuns: 30 },
    );
  });
});
