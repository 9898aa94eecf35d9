import { describe, expect, it } from "vitest";
import { z } from "zod";
import {
  defineTool,
  finalAnswer,
  isLoopError,
  type LoopResult,
  type ModelRequest,
  runToolLoop,
  structuredOutput,
} from "../../core/index.ts";
import { createMockProvider, createTestClock, fail, type MockScript, stall, text, toolCall, usage } from "../../testing/index.ts";
import { createTeam, type TeamMember, type TeamOptions } from "./create-team.ts";

const messages = [{ role: "user", content: "Compare the tides." }] as const;
const spend = usage({ inputTokens: 90, outputTokens: 10 });
const writer: TeamMember = { description: "Writes", system: "Write." };

/** The lead calls `tasks` in its first iteration, and answers in the second. */
const leadOf = (...tasks: readonly (readonly [name: string, args: object])[]) =>
  createMockProvider((_, index) =>
    index === 0 ? [...tasks.map(([name, args]) => toolCall(name, args as never)), spend] : [text("Done."), spend],
  );

const task = (name: string, given: string) => [name, { task: given }] as const;

function taskOf({ messages: [first] }: Pick<ModelRequest, "messages">): string {
  return first?.role === "user" && typeof first.content === "string" ? first.content : "";
}

function reportsOf({ messages: said }: LoopResult): readonly unknown[] {
  return said.flatMap((message) => (message.role === "tool" ? message.results : [])).map(({ result }) => result);
}

async function play(options: TeamOptions, lead = leadOf(task("writer", "One"))): Promise<LoopResult> {
  return runToolLoop({ provider: lead, messages, ...createTeam(options) });
}

describe("createTeam", () => {
  it("runs different tasks of one member at the same time", async () => {
    let working = 0;
    let most = 0;
    const provider = createMockProvider((request) => [text(`About ${taskOf(request)}`), spend]);
    const look = defineTool({
      name: "look",
      description: "Looks",
      inputSchema: { type: "object" },
      execute: async () => {
        most = Math.max(most, (working += 1));
        await new Promise((resolve) => void setImmediate(resolve));
        working -= 1;
      },
    });
    const busy = createMockProvider((request) =>
      request.messages.length === 1 ? toolCall("look") : text(`Read ${taskOf(request)}`),
    );
    const result = await play(
      {
        lead: { system: "Lead.", tools: [look] },
        members: { reader: { ...writer, tools: [look], provider: busy }, writer: { ...writer, provider } },
        maxParallel: 3,
      },
      leadOf(task("reader", "A"), task("reader", "B"), task("reader", "C"), task("writer", "D")),
    );
    expect(reportsOf(result)).toEqual([
      { status: "completed", report: "Read A" },
      { status: "completed", report: "Read B" },
      { status: "completed", report: "Read C" },
      { status: "completed", report: "About D" },
    ]);
    expect([most, result.text, busy.requests[0]?.system]).toEqual([3, "Done.", "Write."]);
    expect(busy.requests[0]?.tools.map(({ name }) => name)).toEqual(["look"]);
  });

  it("tells the lead which members fail, reach a limit or run out of time", async () => {
    const clock = createTestClock();
    const looping: MockScript = () => [text("So far."), toolCall("look"), spend];
    const look = defineTool({ name: "look", description: "Looks", inputSchema: {}, execute: () => 1 });
    const members: TeamOptions["members"] = {
      broken: { ...writer, provider: createMockProvider(() => fail({ status: 400 })) },
      long: { ...writer, tools: [look], provider: createMockProvider(looping), limits: { maxTokens: 250 } },
      slow: { ...writer, provider: createMockProvider(() => [text("One moment."), stall()]), limits: { wallClockMs: 50 } },
    };
    const lead = leadOf(...Object.keys(members).flatMap((name) => [task(name, "x"), task(name, "y")]));
    const pending = runToolLoop({ provider: lead, messages, clock, ...createTeam({ members }) });
    await clock.advance(10_000);
    const result = await pending;
    const failed = { status: "error", reason: "provider-error", report: "" };
    const limited = { status: "error", reason: "max-tokens", report: "So far." };
    const late = { status: "timeout", reason: "wall-clock", report: "One moment." };
    expect(reportsOf(result)).toEqual([failed, failed, limited, limited, late, late]);
    expect(result.text).toBe("Done.");
  });

  it("ends all members when only the lead's reserve of the shared limit is left", async () => {
    const look = defineTool({ name: "look", description: "Looks", inputSchema: {}, execute: () => 1 });
    const provider = createMockProvider(() => [toolCall("look"), spend]);
    const team = createTeam({ members: { writer: { ...writer, tools: [look], provider } }, limits: { maxTokens: 1_000 } });
    const result = await runToolLoop({
      provider: leadOf(task("writer", "One"), task("writer", "Two")),
      messages,
      ...team,
      middleware: [finalAnswer({ reserve: { tokens: 200 } })],
    });
    const spent = { status: "error", reason: "max-tokens", report: "" };
    expect([reportsOf(result), result.finalAnswer, result.text]).toEqual([[spent, spent], true, "Done."]);
    expect(result.usage.totalTokens).toBeLessThanOrEqual(1_000);
  });

  it("rejects tasks beyond maxTasks, counted separately for each run", async () => {
    const team = createTeam({
      members: { writer: { ...writer, maxTasks: 2, provider: createMockProvider(() => text("Written.")) } },
    });
    const lead = () => leadOf(task("writer", "One"), task("writer", "Two"), task("writer", "Three"));
    const done = { status: "completed", report: "Written." };
    const first = await runToolLoop({ provider: lead(), messages, ...team });
    const reason = "writer has already received its maximum of 2 tasks. Continue with the reports that you have.";
    const expected = [done, done, { status: "tool_execution_failed", reason, tool_name: "writer" }];
    expect(reportsOf(first)).toEqual(expected);
    const second = await runToolLoop({ provider: lead(), messages, ...team });
    expect(reportsOf(second)).toEqual(expected);
    const again = await runToolLoop({ provider: lead(), messages, ...team, journal: second.journal, runId: second.runId });
    expect(reportsOf(again)).toEqual(expected);
  });

  it("returns structured results from members", async () => {
    const provider = createMockProvider([text('{"metres":1.4}')]);
    const member: TeamMember = {
      ...writer,
      provider,
      inputSchema: z.object({ place: z.string() }),
      middleware: [structuredOutput(z.object({ metres: z.number() }))],
    };
    const result = await play({ members: { tide: member } }, leadOf(["tide", { place: "Bergen" }]));
    expect(reportsOf(result)).toEqual([{ status: "completed", report: { metres: 1.4 } }]);
    expect(provider.requests[0]?.messages).toEqual([{ role: "user", content: '{"place":"Bergen"}' }]);
  });

  it.for([{}, { task: "" }, { task: 7 }, []])("reports a call with the arguments %j as failed", async (args) => {
    const result = await play({ members: { writer } }, leadOf(["writer", args]));
    expect(JSON.stringify(reportsOf(result))).toContain("tool_execution_failed");
    expect(result.text).toBe("Done.");
  });

  it.for<[message: string, options: object]>([
    [
      'Option "members" is undefined, but must be an object of members by name, such as { researcher: { description, system } }.',
      {},
    ],
    [
      'Option "members" is an object, but must be an object of members by name, such as { researcher: { description, system } }.',
      { members: {} },
    ],
    ['There is no option "member". Did you mean "members"?', { member: {} }],
    ['Option "members.a.system" is undefined, but must be a string.', { members: { a: { description: "a" } } }],
    ['There is no option "members.a.limit". Did you mean "members.a.limits"?', { members: { a: { ...writer, limit: {} } } }],
    [
      'Option "members.a.limits.maxTokens" is 0, but must be a whole number of at least 1, or Infinity.',
      { members: { a: { ...writer, limits: { maxTokens: 0 } } } },
    ],
    [
      'There is no option "limits.maxToken". Did you mean "limits.maxTokens"?',
      { members: { a: writer }, limits: { maxToken: 1 } },
    ],
    [
      'Option "maxParallel" is 0, but must be a whole number of at least 1, or Infinity.',
      { members: { a: writer }, maxParallel: 0 },
    ],
    ['Tool "a b" has an invalid "name"', { members: { "a b": writer } }],
  ])("throws with the message: %s", ([message, options]) => {
    const make = () => createTeam(options as TeamOptions);
    expect(make).toThrow(message);
    expect(make).toThrow(expect.toSatisfy((error) => isLoopError(error)));
  });
});
