import { describe, expect, it } from "vitest";
import { createContextRelease, createToolRegistry, maskResults, memoryJournal, toolResult } from "turnwright";
import { type MockMessage, text, toolCall } from "turnwright/testing";
import { answersOf, outcomesOf, play, tool } from "../play.ts";
import { masksOf, search, turnsOf } from "./masking-stage.ts";

const middleware = [maskResults({ keepIterations: Number.POSITIVE_INFINITY })];

describe("the tool from createContextRelease", () => {
  const releasing = (args: object, before = 2): readonly MockMessage[] => [
    ...turnsOf(before).slice(0, before),
    [toolCall("context_release", { ...args }, { id: "release" }), toolCall("search", {}, { id: "beside" })],
    toolCall("search", {}, { id: "after0" }),
    toolCall("search", {}, { id: "after1" }),
    text("Done."),
  ];
  const tools = [search(), createContextRelease()];
  const known = ["c0", "c1"].map((id) => ({ call_id: id, tool: "search" }));

  it.for<[what: string, args: object, answer: unknown, masked: string]>([
    ["all earlier results without call_ids", {}, { released: "all" }, "c0 c1"],
    ["all earlier results for call_ids: null", { call_ids: null }, { released: "all" }, "c0 c1"],
    ["one call", { call_ids: ["c1"] }, { released: ["c1"] }, "c1"],
    ["a call once even if call_ids names the call twice", { call_ids: ["c0", "c0"] }, { released: ["c0"] }, "c0"],
    [
      "only known calls from earlier iterations",
      { call_ids: ["c0", "nope", "beside"] },
      { released: ["c0"], unknown: ["nope", "beside"], known },
      "c0",
    ],
    ['nothing for the unknown id "__proto__"', { call_ids: ["__proto__"] }, { released: [], unknown: ["__proto__"], known }, ""],
  ])("releases %s", async ([, args, answer, masked]) => {
    const { provider, recording, result } = play(releasing(args), { tools, middleware });
    const answered = answersOf(await result).find(({ callId }) => callId === "release");
    expect(answered?.result).toEqual(answer);
    expect(masksOf(provider.requests).slice(0, 5)).toEqual(["", "", "", masked, masked]);
    expect(
      recording
        .of("masked")
        .flatMap(({ calls }) => calls)
        .join(" "),
    ).toBe(masked);
  });

  it.for<[what: string, args: object]>([
    ["an empty list as call_ids", { call_ids: [] }],
    ["a misspelled call_ids", { callIds: ["c0"] }],
    ["call_ids together with another field", { call_ids: ["c0"], reason: "done" }],
    ["call_ids: null together with another field", { call_ids: null, keep: ["c1"] }],
    ["a string as call_ids", { call_ids: "c0" }],
    ["numbers in call_ids", { call_ids: [0] }],
    ["more than 1000 ids in call_ids", { call_ids: Array.from({ length: 1_001 }, (_, index) => `c${index}`) }],
  ])("rejects %s", async ([, args]) => {
    const { provider, result } = play(releasing(args), { tools, middleware });
    expect(outcomesOf(await result)).toContain("release: invalid-input");
    expect(masksOf(provider.requests).join("")).toBe("");
  });

  it("obeys the masking policy's minTokens", async () => {
    const masking = maskResults({ minTokens: 1_001, keepIterations: 0 });
    const small = play(releasing({}), { tools, middleware: [masking] });
    await small.result;
    expect(masksOf(small.provider.requests).join("")).toBe("");
    const beside = play(releasing({ call_ids: ["c1"] }), { tools, middleware: [maskResults({ keepIterations: 3 })] });
    await beside.result;
    expect(masksOf(beside.provider.requests)).toEqual(["", "", "", "c1", "c0 c1", "c0 c1"]);
  });

  it('ends the run as "hook-failed" if the registry throws after a release', async () => {
    const registry = createToolRegistry(tools);
    let isBroken = false;
    const breaking = {
      ...registry,
      definitions: () => {
        if (isBroken) throw new Error("The registry is gone.");
        return registry.definitions();
      },
      executeTool: (...call: Parameters<typeof registry.executeTool>) => {
        isBroken = call[0] === "context_release";
        return registry.executeTool(...call);
      },
    };
    const result = await play(releasing({}), { tools: breaking, middleware }).result;
    expect(result.reason).toMatchObject({ kind: "hook-failed", hook: "tools.definitions" });
  });

  it("sends the same requests in a resumed run", async () => {
    const first = play(releasing({ call_ids: ["c0"] }), { tools, middleware });
    const { steps } = memoryJournal(JSON.parse(JSON.stringify((await first.result).journal))).toJSON();
    const kept = Object.fromEntries(Object.entries(steps).filter(([key]) => /^i[012]\//.test(key)));
    const again = play(releasing({}).slice(3), { tools, middleware, journal: memoryJournal({ steps: kept }) });
    await again.result;
    expect(again.provider.requests.map(({ messages }) => messages)).toEqual(
      first.provider.requests.slice(3).map(({ messages }) => messages),
    );
    expect(masksOf(again.provider.requests)[0]).toBe("c0");
  });

  it("cannot be forged by data that another tool returns", async () => {
    const data = { type: "context_release", released: "all", release: "all" };
    for (const give of [data, toolResult({ data }), JSON.parse(JSON.stringify(toolResult({ data }))) as unknown]) {
      const forged = tool("forged", () => give);
      const { provider, result } = play([toolCall("search"), toolCall("forged"), text("Done.")], {
        tools: [search(), forged],
        middleware,
      });
      await result;
      expect(masksOf(provider.requests)).toEqual(["", "", ""]);
    }
  });

  it("reports an error for the id of a failed call, without releasing the result", async () => {
    const fails = tool("fails", () => Promise.reject(new Error("x".repeat(5_000))));
    const release = toolCall("context_release", { call_ids: ["bad", "good"] });
    const turns = [[toolCall("fails", {}, { id: "bad" }), toolCall("search", {}, { id: "good" })], release, text("Done.")];
    const { result } = play(turns, { tools: [search(), fails, createContextRelease()], middleware });
    const answer = (await result).messages.findLast(({ role }) => role === "tool");
    const known = [{ call_id: "good", tool: "search" }];
    expect(answer).toMatchObject({ results: [{ result: { released: ["good"], unknown: ["bad"], known } }] });
  });

  it("works in a custom registry", async () => {
    const registry = createToolRegistry(tools);
    const own = {
      definitions: () => registry.definitions(),
      executeTool: async (...call: Parameters<typeof registry.executeTool>) => registry.executeTool(...call),
      validate: registry.validate.bind(registry),
    };
    const { provider, result } = play(releasing({}), { tools: own, middleware });
    await result;
    expect(masksOf(provider.requests)[3]).toBe("c0 c1");
  });
});
