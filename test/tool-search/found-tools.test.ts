import { describe, expect, it } from "vitest";
import {
  approve,
  contextRestart,
  contextRestarts,
  deferTools,
  gateTools,
  type LoopOptions,
  memoryJournal,
  prepareIteration,
  eagerTools,
} from "turnwright";
import { text, toolCall } from "turnwright/testing";
import { withToolSearch } from "turnwright/middleware";
import { answersOf, play, tool } from "../loop/play.ts";
import { deferredTool } from "./catalog.ts";
import { clock, find, pair, run } from "./search-stage.ts";

const done = text("Done.");

describe("a deferred tool that the model calls without loading it", () => {
  it("runs if the arguments are valid", async () => {
    const { outcomes, lists } = await run([[toolCall("beta"), toolCall("clock"), toolCall("alpha")], done]);
    expect(outcomes).toEqual(["beta: completed", "clock: completed", "alpha: completed"]);
    expect(lists).toEqual([
      ["clock", "find_tools"],
      ["clock", "find_tools", "beta", "alpha"],
    ]);
  });

  it("returns the validation issues if the arguments are invalid", async () => {
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
      middleware: [deferTools()],
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

  it("is suggested if the model misspells its name", async () => {
    const { result } = await run([toolCall("alhpa"), done]);
    expect(JSON.stringify(answersOf(result)[0]?.result)).toContain("alpha");
  });

  it("runs in a resumed run if only the request for the call was recorded", async () => {
    const first = await run([toolCall("beta"), done]);
    const { steps } = memoryJournal(JSON.parse(JSON.stringify(first.result.journal))).toJSON();
    const kept = Object.fromEntries(
      Object.entries(steps).filter(([key]) => key === "run" || key === "begin" || key.startsWith("i0/request/")),
    );
    const again = await run([done], { journal: memoryJournal({ steps: kept }) });
    expect(again.outcomes).toEqual(["beta: completed"]);
    expect(again.lists).toEqual([["clock", "find_tools", "beta"]]);
  });

  it("starts early if the tool is eager", async () => {
    let ran = 0;
    const eager = tool("eager", () => (ran += 1), { deferred: true, eager: true });
    const { outcomes, result } = await run([toolCall("eager"), done], {
      tools: withToolSearch([eager]),
      middleware: [eagerTools()],
    });
    expect([outcomes, ran, result.streamResults[0]?.eagerOutcomes?.length]).toEqual([["eager: completed"], 1, 1]);
  });
});

describe("a deferred tool found by find_tools", () => {
  it("is blocked by gateTools", async () => {
    const gate = { active: true, allowedNames: new Set(["find_tools"]) };
    const { outcomes } = await run([find("alpha"), toolCall("alpha"), done], { middleware: [gateTools(gate)] });
    expect(outcomes).toEqual(["find_tools: completed", "alpha: blocked"]);
  });

  it("needs a decision from approve", async () => {
    const asked: string[] = [];
    const policy = ({ name }: { readonly name: string }): { readonly kind: "approve" } | { readonly kind: "deny" } => {
      asked.push(name);
      return name === "find_tools" ? { kind: "approve" } : { kind: "deny" };
    };
    const { outcomes } = await run([find("alpha"), toolCall("alpha"), toolCall("beta"), done], { middleware: [approve(policy)] });
    expect(outcomes).toEqual(["find_tools: completed", "alpha: denied", "beta: denied"]);
    expect(asked).toEqual(["find_tools", "alpha", "beta"]);
  });

  it.for([true, false])(
    "suspends the run until a decision is made if the tool has needsApproval (found before the call: %s)",
    async (isFound) => {
      const tools = (): LoopOptions["tools"] => withToolSearch([clock, deferredTool("pay", "Pays.", { needsApproval: true })]);
      const before = isFound ? [find("pay")] : [];
      const first = await run([...before, toolCall("pay", {}, { id: "p" })], { tools: tools() });
      expect(first.result.reason.kind).toBe("approval-required");
      const journal = memoryJournal(JSON.parse(JSON.stringify(first.result.journal)));
      const again = await run([done], { tools: tools(), journal, answers: { p: { kind: "approve" } } });
      expect(again.outcomes.at(-1)).toBe("pay: completed");
      expect(again.lists).toEqual([["clock", "find_tools", "pay"]]);
    },
  );

  it('is blocked by toolChoice: "none", and by a toolChoice that names another tool', async () => {
    const none = await run([toolCall("alpha"), done], { toolChoice: "none" });
    expect(none.outcomes).toEqual(["alpha: blocked"]);
    const other = await run([toolCall("alpha"), toolCall("clock"), done], { toolChoice: { name: "clock" } });
    expect(other.outcomes).toEqual(["alpha: blocked", "clock: completed"]);
    expect(other.lists.at(-1)).toEqual(["clock", "find_tools"]);
  });

  it("is visible immediately if toolChoice or prepareIteration requires the tool", async () => {
    const options = await run([toolCall("beta"), toolCall("beta"), done], { toolChoice: { name: "beta" } });
    expect(options.lists).toEqual(Array.from({ length: 3 }, () => ["clock", "find_tools", "beta"]));
    const prepare = ({
      iteration,
    }: {
      readonly iteration: number;
    }): { readonly toolChoice: { readonly name: string } } | undefined =>
      iteration === 1 ? { toolChoice: { name: "beta" } } : undefined;
    const planned = await run([toolCall("clock"), toolCall("clock"), toolCall("clock"), done], {
      middleware: [prepareIteration(prepare)],
    });
    expect(planned.lists.map((names) => names.join())).toEqual([
      "clock,find_tools",
      "clock,find_tools,beta",
      "clock,find_tools",
      "clock,find_tools",
    ]);
  });

  it("is neither found nor run if prepareIteration excludes the tool", async () => {
    const prepare = (): { readonly tools: readonly string[] } => ({ tools: ["find_tools", "alpha"] });
    const { outcomes, lists, result } = await run([find("alpha beta"), toolCall("beta"), toolCall("alpha"), done], {
      middleware: [prepareIteration(prepare)],
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

  it("is hidden by a context restart, even in a resumed run", async () => {
    const hide = tool("hide", () => contextRestart({ type: "context_restart_done", disable_tools: ["alpha"] }));
    const tools = (): LoopOptions["tools"] => withToolSearch([hide, deferredTool("alpha"), deferredTool("beta")]);
    const script = [find("alpha beta"), toolCall("hide"), toolCall("alpha"), find("alpha"), done];
    const { outcomes, lists, result } = await run(script, { tools: tools(), middleware: [contextRestarts()] });
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
    const again = await run(script.slice(3), {
      tools: tools(),
      middleware: [contextRestarts()],
      journal: memoryJournal({ steps: kept }),
    });
    expect(again.lists.map((names) => names.join())).toEqual(["hide,find_tools,beta", "hide,find_tools,beta"]);
    expect(answersOf(again.result).at(-1)?.result).toMatchObject({ tools: [] });
    // The journal has the call of the search, but not its result, so the search runs in the resumed run.
    const unsearched = Object.fromEntries(Object.entries(steps).filter(([key]) => !/^i(?:3\/tool|4)/.test(key)));
    const late = await run([done], {
      tools: tools(),
      middleware: [contextRestarts()],
      journal: memoryJournal({ steps: unsearched }),
    });
    expect(answersOf(late.result).at(-1)?.result).toMatchObject({ tools: [] });
  });

  it("stays visible in a later run if the conversation contains a call to it", async () => {
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
