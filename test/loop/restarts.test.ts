import { describe, expect, it } from "vitest";
import { contextRestart, contextRestarts, type LoopOptions, memoryJournal } from "turnwright";
import { type MockScript, text, toolCall } from "turnwright/testing";
import { answersOf, play, tool, type Playing } from "./play.ts";

const restart = (suffix: string, more: object = {}): object => contextRestart({ type: `context_restart_${suffix}`, ...more });
const start = (script: MockScript, answer: unknown, more: Partial<LoopOptions> = {}): Playing =>
  play(script, {
    tools: [tool("enrich", () => answer), tool("other", () => "other"), tool("third", () => "third")],
    middleware: [contextRestarts()],
    ...more,
  });

const contextsOf = ({ provider }: Playing): readonly unknown[] =>
  provider.requests.map(({ messages }) => messages.at(-1)?.role === "user" && messages.at(-1));
const toolsOf = ({ provider }: Playing): readonly string[] =>
  provider.requests.map(({ tools }) => tools.map(({ name }) => name).join());

describe("a tool that returns contextRestart", () => {
  it("adds its item to the end of each later request, but not to the function history", async () => {
    const playing = start(
      [[text("Wait. "), toolCall("enrich"), toolCall("other")], toolCall("other"), text("Hello Ada.")],
      restart("profile", { enhanced_context_item: { name: "Ada" } }),
    );
    const result = await playing.result;
    const context = { role: "user", content: 'Context:\n{"name":"Ada"}' };
    expect(contextsOf(playing)).toEqual([{ role: "user", content: "Go." }, context, context]);
    expect(result.functionHistory.map((entry) => entry.functionCall.name)).toEqual(["other", "other"]);
    expect(answersOf(result).map((part) => [part.outcome, part.result])).toEqual([
      ["restarted", { status: "context_restarted" }],
      ["completed", "other"],
      ["completed", "other"],
    ]);
    // The requests contain the context item, but result.messages does not.
    expect(result.messages.map(({ role }) => role)).toEqual(["user", "assistant", "tool", "assistant", "tool", "assistant"]);
    expect(result.messages[1]).toMatchObject({ content: [{ text: "Wait. " }, {}, {}] });
    expect(playing.recording.of("restart")).toMatchObject([
      { callId: "call_i0_0", name: "enrich", suffix: "profile", disableTools: [] },
    ]);
  });

  it("adds its items after the caller's contextItems", async () => {
    const playing = start(
      [toolCall("enrich"), toolCall("enrich"), text("Done.")],
      restart("x", { enhanced_context_item: ["new"] }),
      {
        middleware: [contextRestarts({ items: ["It is night.", { at: "home" }] })],
      },
    );
    await playing.result;
    const own = 'Context:\nIt is night.\n{"at":"home"}';
    expect(contextsOf(playing)).toMatchObject([
      { content: own },
      { content: `${own}\n["new"]` },
      { content: `${own}\n["new"]\n["new"]` },
    ]);
  });

  it.for<[title: string, data: object, effects: { readonly [suffix: string]: readonly string[] } | undefined, hidden: string]>([
    ["no tools by default", restart("x"), undefined, "enrich,other,third"],
    ["the tools in disable_tools", restart("x", { disable_tools: ["enrich", "third"] }), undefined, "other"],
    ["the tools in contextRestarts.effects", restart("x"), { x: ["other"], y: ["enrich"] }, "enrich,third"],
    ["the tools from both lists", restart("x", { disable_tools: ["third"] }), { x: ["other"] }, "enrich"],
    ['no tools after a restart with the suffix "constructor"', restart("constructor"), { x: ["other"] }, "enrich,other,third"],
  ])("hides %s for the rest of the run", async ([, data, effects, shown]) => {
    const playing = start([toolCall("enrich"), toolCall("other"), text("Done.")], data, {
      middleware: [contextRestarts({ effects })],
    });
    await playing.result;
    expect(toolsOf(playing)).toEqual(["enrich,other,third", shown, shown]);
  });

  it('gives a call to a hidden tool the outcome "unknown-tool"', async () => {
    const playing = start([toolCall("enrich"), toolCall("enrich"), text("Done.")], restart("x", { disable_tools: ["enrich"] }));
    expect(answersOf(await playing.result).map((part) => part.outcome)).toEqual(["restarted", "unknown-tool"]);
  });

  it('ends the run with "restart-cap" at the sixth restart by default', async () => {
    const playing = start(() => toolCall("enrich"), restart("x"));
    const result = await playing.result;
    expect([result.reason, playing.provider.calls]).toEqual([{ kind: "restart-cap", count: 6 }, 6]);
  });

  it.for([
    [0, 1],
    [2, 3],
  ] as const)('with maxRestarts: %d ends the run with "restart-cap" after request %d', async ([maxRestarts, requests]) => {
    const playing = start(() => toolCall("enrich"), restart("x"), { middleware: [contextRestarts({ maxRestarts })] });
    expect([(await playing.result).reason.kind, playing.provider.calls]).toEqual(["restart-cap", requests]);
  });

  it.for<[title: string, fields: object, problem: string]>([
    [
      "a different type",
      { type: "restart_x" },
      '"contextRestart.type" is "restart_x", but must be "context_restart_" followed by a suffix',
    ],
    ["no type", {}, '"contextRestart.type" is undefined, but must be "context_restart_" followed by a suffix'],
    [
      "a string as its item",
      { enhanced_context_item: "x" },
      '"contextRestart.enhanced_context_item" is "x", but must be an object or an array',
    ],
    [
      "a string as disable_tools",
      { disable_tools: "enrich" },
      '"contextRestart.disable_tools" is "enrich", but must be an array of strings',
    ],
    [
      "a number as pending_context_key",
      { pending_context_key: 7 },
      '"contextRestart.pending_context_key" is 7, but must be a string',
    ],
    ["a misspelled field", { disabled_tools: [] }, 'Did you mean "contextRestart.disable_tools"?'],
  ])("fails the call and names the problem if the restart data has %s", async ([title, fields, problem]) => {
    const whole = title === "no type" ? fields : { type: "context_restart_x", ...fields };
    const make = (): object => Reflect.apply(contextRestart, undefined, [whole]);
    const playing = play([toolCall("enrich"), text("Done.")], { tools: [tool("enrich", make)] });
    expect(JSON.stringify(answersOf(await playing.result)[0])).toContain(JSON.stringify(problem).slice(1, -1));
  });

  it("does not add a context item if the item is null", async () => {
    const playing = start([toolCall("enrich"), text("Done.")], restart("x", { enhanced_context_item: null }));
    await playing.result;
    expect(playing.provider.requests[1]?.messages.at(-1)?.role).toBe("tool");
  });

  it("leads to the same next request in a replay", async () => {
    const playing = start(
      [toolCall("enrich"), text("Done.")],
      restart("x", { enhanced_context_item: ["new"], disable_tools: ["enrich"] }),
    );
    const first = await playing.result;
    const { steps } = memoryJournal(JSON.parse(JSON.stringify(first.journal))).toJSON();
    const kept = Object.fromEntries(Object.entries(steps).filter(([key]) => !key.startsWith("i1/")));
    const again = start([text("Done.")], "unused", { journal: memoryJournal({ steps: kept }) });
    await again.result;
    expect(again.provider.requests[0]).toMatchObject({
      ...playing.provider.requests[1],
      messages: playing.provider.requests[1]?.messages,
    });
  });
});

describe("a tool that returns plain data with the type of a context restart", () => {
  it("restarts nothing, and a notice names the tool", async () => {
    const playing = start([toolCall("enrich"), text("Done.")], { type: "context_restart_x", enhanced_context_item: { a: 1 } });
    await playing.result;
    expect(playing.recording.of("notice")).toMatchObject([
      { runId: expect.any(String), iteration: 0, kind: "unmarked-restart", toolName: "enrich" },
    ]);
    expect(playing.recording.of("restart")).toEqual([]);
  });

  it.for<[what: string, answer: unknown, more: object]>([
    ["comes from a server", { type: "context_restart_x" }, { origin: "mcp:web" }],
    ["has a different type", { type: "context" }, {}],
    ["restarts", contextRestart({ type: "context_restart_x" }), {}],
  ])("emits no notice if it %s", async ([, answer, more]) => {
    const playing = play([toolCall("enrich"), text("Done.")], {
      tools: [tool("enrich", () => answer, more)],
      middleware: [contextRestarts()],
    });
    await playing.result;
    expect(playing.recording.of("notice")).toEqual([]);
  });
});
