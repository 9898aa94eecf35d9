// Tests of the facts that one run hands to the next, for conversations and for run hosts. test/dbos/handed-on.test.ts has the durable hosts.

import { describe, expect, it } from "vitest";
import {
  createLoopControl,
  type LoopEvent,
  type LoopOptions,
  type LoopResult,
  type Message,
  type ModelRequest,
} from "turnwright";
import { compactMessages, guardrails, type InputCheck, createHandoffs, withoutToolCalls } from "turnwright/middleware";
import { createConversation, memoryConversationStore } from "turnwright/conversation";
import type { ConversationUsage } from "../../src/conversation/handover.ts";
import { createRunHost } from "turnwright/host";
import { createMockProvider, fail, type MockScript, stall, text, toolCall, usage } from "turnwright/testing";
import { show } from "../conversation/stage.ts";
import { createStage, readStart, tool } from "./stage.ts";

type RunOptions = Omit<LoopOptions, "messages" | "control">;

interface Chat {
  ask(message: string): Promise<Pick<LoopResult, "status" | "reason">>;
  /** Sends a message, and stops the run at its first event of the type `at`. Default: when the model has begun to answer. */
  askAndStop(message: string, at?: LoopEvent["type"]): Promise<void>;
  messages(): Promise<readonly Message[]>;
  usage(): Promise<Omit<ConversationUsage, "runs">>;
}

let chats = 0;

function openConversation(run: RunOptions): Chat {
  chats += 1;
  const control = createLoopControl();
  const conversation = createConversation({ id: `handed-on-${chats}`, store: memoryConversationStore(), options: run });
  return {
    ask: (message) => conversation.send(message),
    askAndStop: async (message, at = "text-delta") => {
      const stream = conversation.stream(message, { control });
      for await (const { type } of stream) if (type === at) control.stop();
      await stream.result;
    },
    messages: () => conversation.messages(),
    usage: () => conversation.usage(),
  };
}

function openHost(run: RunOptions): Chat {
  const host = createRunHost();
  chats += 1;
  const id = `handed-on-${chats}`;
  const start = async (message: string) => {
    const answer = await host.start(id, { ...run, message });
    if (answer.kind !== "started") throw new Error(`The start was ${answer.kind}.`);
    return answer;
  };
  const status = async () => {
    const found = await host.status(id);
    if (found === undefined) throw new Error("There is no conversation.");
    return found;
  };
  return {
    ask: async (message) => (await start(message)).result,
    askAndStop: async (message, at = "text-delta") => {
      const answer = await start(message);
      for await (const { event } of answer.join()) if (event.type === at) host.stop(id);
      await answer.result;
    },
    messages: async () => (await status()).messages,
    usage: status,
  };
}

const check: InputCheck = { name: "topic", check: ({ text: said }) => ({ kind: said.includes("evil") ? "refuse" : "pass" }) };

function guarded(script: MockScript): RunOptions {
  return { provider: createMockProvider(script), middleware: [guardrails({ input: [check] })] };
}

describe.each([
  ["createConversation", openConversation],
  ["createRunHost", openHost],
])("%s", (_name, open) => {
  it("starts each run with the last summary, so that a long chat does not pay for the same summary again", async () => {
    const long = "The answer has many words. ".repeat(100);
    const summaries: (readonly Message[])[] = [];
    const sent: (readonly Message[])[] = [];
    const provider = createMockProvider((request) => {
      (request.purpose === "summary" ? summaries : sent).push([...request.messages]);
      return text(request.purpose === "summary" ? `Summary ${summaries.length}.` : long);
    });
    const chat = open({ provider, middleware: [compactMessages({ when: 4_000, keep: 400 })] });
    let afterFirst = 0;
    for (let turn = 1; turn <= 16; turn += 1) {
      await chat.ask(`Question ${turn}`);
      if (summaries.length === 1) afterFirst += 1;
    }
    expect(summaries.length).toBeLessThan(6);
    expect(afterFirst).toBeGreaterThan(2);
    expect(sent.at(-1)?.length).toBeLessThan(16);
    expect((await chat.messages()).filter(({ role }) => role === "user").length).toBe(16);
  });

  it("continues as the agent of the last handoff, whose filter applies to the messages before the handoff", async () => {
    const requests: Pick<ModelRequest, "system" | "messages">[] = [];
    const script = [
      toolCall("look"),
      toolCall("transfer_to_billing", {}),
      text("Billing here."),
      text("Still billing."),
      text("Yes."),
    ];
    const provider = createMockProvider((request) => {
      requests.push({ system: request.system, messages: [...request.messages] });
      return script[requests.length - 1];
    });
    const look = tool("look", () => "a secret result");
    const agents = createHandoffs({
      start: "triage",
      agents: {
        triage: { description: "Finds the topic", system: "You are triage.", tools: [look], handoffs: ["billing"] },
        billing: { description: "Knows invoices", system: "You are billing.", history: withoutToolCalls },
      },
    });
    const chat = open({ provider, tools: agents.tools, middleware: [agents] });
    await chat.ask("My invoice is wrong.");
    await chat.ask("And now?");
    await chat.ask("Sure?");
    expect(requests.slice(2).map(({ system }) => system)).toEqual(["You are billing.", "You are billing.", "You are billing."]);
    expect(show(requests.at(-1)?.messages ?? [])).toEqual([
      "user: My invoice is wrong.",
      "model: Billing here.",
      "user: And now?",
      "model: Still billing.",
      "user: Sure?",
    ]);
    expect(show(await chat.messages())).toContain("tool: look completed");
  });

  it("answers the next message after a message that an input check has refused", async () => {
    const chat = open(guarded((_request, index) => text(`Answer ${index}.`)));
    await chat.ask("Hello.");
    expect((await chat.ask("An evil plan.")).reason.kind).toBe("input-guardrail");
    expect(show(await chat.messages())).toEqual(["user: Hello.", "model: Answer 0."]);
    expect((await chat.ask("Sorry.")).status).toBe("completed");
  });

  it("keeps the unanswered messages of a failed run when an input check refuses the next message", async () => {
    const chat = open(guarded((_request, index) => (index === 0 ? fail({ status: 401, message: "No key" }) : text("Yes."))));
    expect((await chat.ask("Is it on?")).status).toBe("error");
    await chat.ask("An evil plan.");
    expect(show(await chat.messages())).toEqual(["user: Is it on?"]);
    await chat.ask("Please.");
    expect(show(await chat.messages())).toEqual(["user: Is it on?", "user: Please.", "model: Yes."]);
  });

  it("answers the next message after a run that summarized a message before its input check refused it", async () => {
    let summaries = 0;
    const provider = createMockProvider(({ purpose }, index) => {
      if (purpose === "summary") return text(`Summary ${(summaries += 1)}.`);
      return index === 0 ? stall() : text("Yes.");
    });
    const middleware = [compactMessages({ when: 400, keep: 50 }), guardrails({ input: [check] })];
    const chat = open({ provider, middleware });
    await chat.askAndStop("A long story. ".repeat(400), "iteration-start");
    expect((await chat.ask("An evil plan.")).reason.kind).toBe("input-guardrail");
    expect([summaries, await chat.messages()]).toEqual([1, []]);
    for (const message of ["Hello.", "Are you there?"]) {
      expect((await chat.ask(message)).status).toBe("completed");
      // The summary is about messages that have left.
      expect(show(provider.requests.at(-1)?.messages ?? [])[0]).toBe("user: Hello.");
    }
    expect(show(await chat.messages())).toEqual(["user: Hello.", "model: Yes.", "user: Are you there?", "model: Yes."]);
  });

  it("removes an unchecked, unanswered message together with a refused message", async () => {
    const slow: InputCheck = {
      name: "topic",
      check: ({ text: said }, { signal }) =>
        said === "An evil plan."
          ? new Promise((resolve) => signal.addEventListener("abort", () => resolve({ kind: "pass" })))
          : check.check({ text: said, newMessages: [], messages: [] }, {} as never),
    };
    const control = createLoopControl();
    const provider = createMockProvider((_request, index) => {
      if (index === 0) queueMicrotask(() => control.stop());
      return index === 0 ? stall() : text("Yes.");
    });
    const stored = createConversation({
      id: "unchecked",
      store: memoryConversationStore(),
      options: { provider, middleware: [guardrails({ input: [slow] })] },
    });
    expect((await stored.send("An evil plan.", { control })).status).toBe("stopped-by-user");
    expect((await stored.send("Hello.")).reason.kind).toBe("input-guardrail");
    expect((await stored.send("Hello again.")).status).toBe("completed");
  });

  it("adds up usage and cost, and says how much is known after a run with an unknown cost", async () => {
    const tokens = usage({ inputTokens: 9, outputTokens: 1 });
    const script: MockScript = (_request, index) => (index === 1 ? [text("Once"), stall()] : [text("Yes."), tokens]);
    const chat = open({ provider: createMockProvider(script), pricing: ({ totalTokens }) => totalTokens / 10 });
    await chat.ask("1");
    expect(await chat.usage()).toMatchObject({ usage: { totalTokens: 10 }, costUSD: 1, knownCostUSD: 1 });
    await chat.askAndStop("2");
    expect(await chat.usage()).toMatchObject({ costUSD: undefined, knownCostUSD: 1 });
    await chat.ask("3");
    expect(await chat.usage()).toMatchObject({ usage: { totalTokens: 20 }, costUSD: undefined, knownCostUSD: 2 });
  });
});

it("createRunHost: sends the model an edited message instead of the summary of the old one", async () => {
  const provider = createMockProvider(({ purpose }, index) => {
    if (purpose === "summary") return text("A summary.");
    return index === 0 ? stall() : text("Yes.");
  });
  const middleware = [compactMessages({ when: 400, keep: 50 })];
  const { host, id, clock } = createStage();
  const run = { provider, middleware, clock };
  const message = { role: "user", content: "A long story. ".repeat(400), id: "first" } as const;
  const first = await host.start(id, { ...run, message });
  await clock.flush();
  host.stop(id);
  await readStart(first);
  const second = await readStart(host.start(id, { ...run, message: "And now?" }));
  expect(second.compaction?.count).toBe(1);
  await readStart(host.start(id, { ...run, message: { ...message, content: "A short story.", edited: true } }));
  expect(show(provider.requests.at(-1)?.messages ?? [])).toEqual(["user: A short story."]);
});
