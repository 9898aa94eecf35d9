import { beforeEach, describe, expect, it } from "vitest";
import { approve, defineTool, type LoopOptions } from "turnwright";
import { createConversation, memoryConversationStore } from "turnwright/conversation";
import { createRunHost } from "turnwright/host";
import { parseRunLog, runLog } from "turnwright/inspect";
import { createMockProvider, text, toolCall } from "turnwright/testing";
import { addWatchers } from "../add-watchers.ts";

const pay = defineTool({
  name: "pay",
  description: "Pays",
  inputSchema: { type: "object" },
  needsApproval: true,
  execute: () => 1,
});
const provider = () => createMockProvider(({ messages }) => (messages.length === 1 ? toolCall("pay") : text("Paid.")));
const policy = { middleware: [approve(() => ({ kind: "approve" as const }))] };
let lines: string[] = [];
let sink = { write: (_line: string): void => {} };
let failure: Error | undefined;

function wrapOptions(options: LoopOptions): LoopOptions {
  if (failure !== undefined) throw failure;
  return addWatchers(options, runLog({ to: sink }));
}

beforeEach(() => {
  lines = [];
  sink = { write: (line) => void lines.push(line) };
  failure = undefined;
});

const logged = () => parseRunLog(lines.join("")).runs.map(({ runId, status }) => [runId, status]);

describe("createConversation's wrapOptions", () => {
  const open = (own: Partial<LoopOptions> = policy) =>
    createConversation({
      id: "chat",
      store: memoryConversationStore(),
      options: { provider: provider(), tools: [pay], ...own },
      wrapOptions,
    });

  it("wraps the options of send and stream", async () => {
    const chat = open();
    await chat.send("Pay.");
    await chat.stream("Again.", { limits: { maxIterations: 3 } }).result;
    expect(logged().map(([, status]) => status)).toEqual(["completed", "completed"]);
  });

  it("wraps the options of resume", async () => {
    const chat = open({});
    const { reason } = await chat.send("Pay.");
    const [id = ""] = "calls" in reason ? reason.calls.map((call) => call.id) : [];
    await chat.resume({ answers: { [id]: { kind: "approve" } } });
    expect(logged().map(([, status]) => status)).toEqual(["completed"]);
  });

  it.each(["send", "stream"] as const)("makes %s reject if it throws, and leaves the conversation as it was", async (verb) => {
    const chat = open();
    failure = new Error("No collector.");
    const run = async (): Promise<unknown> => (verb === "send" ? chat.send("Pay.") : chat.stream("Pay.").result);
    await expect(run()).rejects.toBe(failure);
    expect([await chat.messages(), await chat.status()]).toEqual([[], undefined]);
    failure = undefined;
    expect((await chat.send("Pay.")).status).toBe("completed");
  });

  it("must be a function", () => {
    const options = { provider: provider() };
    const wrong = { id: "chat", store: memoryConversationStore(), options, wrapOptions: {} as never };
    expect(() => createConversation(wrong)).toThrow(/Option "wrapOptions" is .*, but must be a function/);
  });
});

it("createRunHost's wrapOptions: wraps the options of each run", async () => {
  const host = createRunHost({ wrapOptions });
  const started = await host.start("chat", { provider: provider(), tools: [pay], ...policy, message: "Pay." });
  if (started.kind === "started") await started.result;
  expect(logged()).toEqual([["chat/1", "completed"]]);
  await host.close();
});
