import { getEncoding } from "js-tiktoken";
import { describe, expect, it } from "vitest";
import {
  createToolRegistry,
  deferTools,
  defineTool,
  type LoopResult,
  memoryJournal,
  mergeRegistries,
  type ToolContext,
  withFilter,
  withPrefix,
} from "turnwright";
import { text, toolCall } from "turnwright/testing";
import { withToolSearch } from "turnwright/middleware";
import { z } from "zod";
import { answersOf, outcomesOf, play, tool } from "../loop/play.ts";
import { deferredTool, manyTools, toolNames } from "./catalog.ts";

const clock = tool("clock", () => "noon");
const find = (query: string, id = "find"): ReturnType<typeof toolCall> => toolCall("find_tools", { query }, { id });
const done = text("Done.");
const foundBy = (result: Pick<LoopResult, "messages">): unknown =>
  answersOf(result).flatMap(({ result: answer }) => answer as { readonly tools: readonly { readonly name: string }[] })[0]
    ?.tools[0]?.name;

describe("withToolSearch", () => {
  it("sends 300 deferred tools as one tool of at most 1,500 tokens", async () => {
    const { provider, result } = play([done], { tools: withToolSearch(manyTools), middleware: [deferTools()] });
    await result;
    const [first = { tools: [] }] = provider.requests;
    const section = JSON.stringify(first.tools);
    expect(toolNames(first)).toEqual(["find_tools"]);
    expect(Math.ceil(Buffer.byteLength(section) / 4)).toBeLessThanOrEqual(1_500);
    expect(getEncoding("o200k_base").encode(section).length).toBeLessThanOrEqual(1_500);
    expect(JSON.stringify(manyTools).length / section.length).toBeGreaterThan(10);
    const description = first.tools[0]?.description ?? "";
    expect(description).toContain("github_create_: branch, issue, pull_request, release, repository, workflow_run");
    expect(description).toContain("\nstripe_update_: customer, invoice, payment_intent, price, refund, subscription");
    expect(description).not.toContain("more");
  });

  it("adds found tools after the next request's other tools", async () => {
    const script = [
      find("create a refund in stripe"),
      toolCall("stripe_create_refund", { id: "r1" }),
      find("clock slack reminder"),
      done,
    ];
    const { provider, result } = play(script, { tools: withToolSearch([clock, ...manyTools]), middleware: [deferTools()] });
    const ended = await result;
    expect(outcomesOf(ended).map((outcome) => outcome.split(": ")[1])).toEqual(["completed", "completed", "completed"]);
    const lists = provider.requests.map(toolNames);
    expect(lists[0]).toEqual(["clock", "find_tools"]);
    expect(lists[1]).toHaveLength(7);
    expect(lists[1]).toContain("stripe_create_refund");
    expect(lists[2]).toEqual(lists[1]);
    expect(lists[3]?.slice(0, 7)).toEqual(lists[2]);
    expect(lists[3]).toHaveLength(12);
    const loaded = provider.requests[1]?.tools.find(({ name }) => name === "stripe_create_refund");
    expect(loaded).toMatchObject({ inputSchema: { properties: { id: { type: "string" } } } });
    expect(loaded?.deferred).toBeUndefined();
  });

  it("returns at most maxResults names with one-line descriptions, best first", async () => {
    const { result } = play([find("create github issues"), done], {
      tools: withToolSearch(manyTools, { maxResults: 2 }),
      middleware: [deferTools()],
    });
    const [answer] = answersOf(await result);
    expect(answer?.result).toEqual({
      tools: [
        { name: "github_create_issue", description: expect.stringMatching(/^create a issue in github\..{100,}$/) },
        { name: expect.stringMatching(/^github_/), description: expect.stringMatching(/^.{1,161}$/) },
      ],
    });
  });

  it.for<[query: string, first: string]>([
    ["slack_archive_canvas", "slack_archive_canvas"],
    ["use jira_merge_board, please", "jira_merge_board"],
    ["create github issues with jira_get_board", "jira_get_board"],
    ["archiveCanvas", "slack_archive_canvas"],
    ["reminders delet", "slack_delete_reminder"],
    ["opportunitty create", "salesforce_create_opportunity"],
    ["phone number", "call_person"],
    ["e-mail of the addressee", "write_letter"],
  ])('for the query "%s", returns the tool %s as the first match', async ([query, first]) => {
    const more = [
      deferredTool("call_person", "Starts a conversation by phone.", {
        inputSchema: { type: "object", properties: { number: {} } },
      }),
      deferredTool("write_letter", "Sends a text.", {
        inputSchema: {
          type: "object",
          properties: { to: { type: "object", properties: { mail: { description: "The e-mail of the addressee." } } } },
        },
      }),
    ];
    const { result } = play([find(query), done], { tools: withToolSearch([...manyTools, ...more]), middleware: [deferTools()] });
    expect(foundBy(await result)).toBe(first);
  });

  it("loads nothing if nothing matches the query", async () => {
    const script = [
      find("zzzzzz"),
      find(" "),
      toolCall("find_tools", { query: 7 }),
      find("??"),
      find("__proto__ constructor"),
      done,
    ];
    const { provider, result } = play(script, {
      tools: withToolSearch(manyTools),
      middleware: [deferTools()],
      limits: { maxConsecutiveToolErrors: 9 },
    });
    const answers = answersOf(await result);
    expect(answers.map(({ outcome }) => outcome)).toEqual([
      "completed",
      "invalid-input",
      "invalid-input",
      "completed",
      "completed",
    ]);
    expect(answers[0]?.result).toEqual({ tools: [], hint: "No tool matches. Try other words for the task." });
    expect(
      provider.requests
        .map(toolNames)
        .flat()
        .every((name) => name === "find_tools"),
    ).toBe(true);
  });

  it("ignores the `deferred` trait of tools if the `defer` option is set", async () => {
    const tools = [clock, deferredTool("a"), deferredTool("b")];
    const first = async (defer?: true | ((tool: { readonly name: string }) => boolean)): Promise<readonly string[]> => {
      const { provider, result } = play([done], { tools: withToolSearch(tools, { defer }), middleware: [deferTools()] });
      await result;
      return provider.requests.flatMap(toolNames);
    };
    expect(await first()).toEqual(["clock", "find_tools"]);
    expect(await first(true)).toEqual(["find_tools"]);
    expect(await first(({ name }) => name !== "a")).toEqual(["a", "find_tools"]);
    expect(await first(() => false)).toEqual(["clock", "a", "b"]);
  });

  it.for<[what: string, options: object, code: string]>([
    ["an unknown option", { max: 1 }, "unknown-option"],
    ["defer: false", { defer: false }, "invalid-option"],
    ["a defer function that returns a promise", { defer: async () => true }, "invalid-option"],
    ["maxResults: 0", { maxResults: 0 }, "invalid-option"],
    ["maxTokens: 100", { maxTokens: 100 }, "invalid-option"],
  ])("throws for %s", ([, options, code]) => {
    expect(() => withToolSearch(manyTools, options)).toThrow(expect.objectContaining({ name: "LoopError", code }));
  });

  it('throws "duplicate-tool" if the source has a tool named find_tools', () => {
    expect(() => withToolSearch([tool("find_tools", () => 1)])).toThrow(expect.objectContaining({ code: "duplicate-tool" }));
    expect(() => withToolSearch(withToolSearch(manyTools))).toThrow(expect.objectContaining({ code: "duplicate-tool" }));
  });

  it("uses a changing registry's current tools", async () => {
    const registry = createToolRegistry([deferredTool("old_tool")]);
    const change = tool("change", () => {
      registry.unregister("old_tool");
      registry.register(deferredTool("new_tool"));
      return "changed";
    });
    const tools = withToolSearch(mergeRegistries(createToolRegistry([change]), registry));
    const script = [find("old tool"), toolCall("change"), find("tool", "late"), toolCall("new_tool"), done];
    const { provider, result } = play(script, { tools, middleware: [deferTools()] });
    const ended = await result;
    expect(answersOf(ended).map(({ result: answer }) => answer)).toMatchObject([
      { tools: [{ name: "old_tool" }] },
      "changed",
      { tools: [{ name: "new_tool" }] },
      "new_tool ran",
    ]);
    expect(provider.requests.map(toolNames)).toEqual([
      ["change", "find_tools"],
      ["change", "find_tools", "old_tool"],
      ["change", "find_tools"],
      ["change", "find_tools", "new_tool"],
      ["change", "find_tools", "new_tool"],
    ]);
    expect(provider.requests[2]?.tools[1]?.description).toContain("new_tool");
  });

  it("finds deferred tools of registries that are merged later, even with a prefix", async () => {
    const tools = withPrefix(mergeRegistries(withToolSearch([deferredTool("inner_one")]), [deferredTool("outer_two")]), "x_");
    const { provider, result } = play([toolCall("x_find_tools", { query: "outer two" }), toolCall("x_outer_two"), done], {
      tools,
      middleware: [deferTools()],
    });
    expect(outcomesOf(await result).every((outcome) => outcome.endsWith("completed"))).toBe(true);
    expect(provider.requests.map(toolNames)[1]).toEqual(["x_find_tools", "x_outer_two"]);
  });

  it("works outside a run, for example in a test of find_tools", () => {
    const tools = withToolSearch([deferredTool("alpha"), clock]);
    const answer: unknown = tools.executeTool("find_tools", { query: "alpha" }, {} as ToolContext);
    expect(answer).toMatchObject({ success: true, data: { tools: [{ name: "alpha" }] } });
    expect(tools.executeTool("clock", {}, {} as ToolContext)).toBe("noon");
  });

  it("validates a found tool's arguments", async () => {
    const strict = defineTool({
      name: "strict",
      description: "s",
      deferred: true,
      inputSchema: z.object({ id: z.string() }),
      execute: () => 1,
    });
    const { result } = play([find("strict"), toolCall("strict", { id: 7 }), done], {
      tools: withToolSearch([strict]),
      middleware: [deferTools()],
    });
    expect(outcomesOf(await result)).toEqual(["find: completed", expect.stringContaining("invalid-input")]);
  });

  it("does not find tools removed by a filter", async () => {
    const tools = withFilter(withToolSearch([deferredTool("delete_all"), deferredTool("delete_one")]), [
      "find_tools",
      "delete_one",
    ]);
    const { provider, result } = play([find("delete all delete_all"), toolCall("delete_all"), done], {
      tools,
      middleware: [deferTools()],
    });
    const [found, called] = answersOf(await result);
    expect(found?.result).toMatchObject({ tools: [{ name: "delete_one" }] });
    expect(called?.outcome).toBe("unknown-tool");
    expect(provider.requests.map(toolNames).at(-1)).toEqual(["find_tools", "delete_one"]);
  });

  it("sends the same requests in a run that is resumed in another process", async () => {
    const script = [find("refund"), toolCall("jira_get_board"), find("slack canvas"), toolCall("slack_get_canvas"), done];
    const first = play(script, { tools: withToolSearch(manyTools), middleware: [deferTools()] });
    const { steps } = memoryJournal(JSON.parse(JSON.stringify((await first.result).journal))).toJSON();
    const whole = first.provider.requests.map(({ tools, messages }) => ({ tools, messages }));
    for (const iteration of [1, 2, 3, 4]) {
      for (const isWhole of [true, false]) {
        // The journal lacks the steps of the calls in the last iteration, so these calls run again.
        const kept = Object.entries(steps).filter(([key]) => {
          const at = Number(/^i(\d+)\//.exec(key)?.[1] ?? -1);
          return at < iteration - 1 || (at === iteration - 1 && (isWhole || !key.includes("/tool/")));
        });
        const journal = memoryJournal({ steps: Object.fromEntries(kept) });
        const again = play(script.slice(iteration), { tools: withToolSearch(manyTools), middleware: [deferTools()], journal });
        await again.result;
        const sent = again.provider.requests.map(({ tools, messages }) => ({ tools, messages }));
        expect(JSON.parse(JSON.stringify(sent))).toEqual(JSON.parse(JSON.stringify(whole.slice(iteration))));
      }
    }
  });
});
