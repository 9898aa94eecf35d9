// A conversation keeps the transcript, the usage and the late messages of its runs.

import { describe, expect, it } from "vitest";
import { z } from "zod";
import {
  createLoopControl,
  defineTool,
  isLoopError,
  type Journal,
  memoryJournal,
  structuredOutput,
  type Usage,
  type UserMessage,
} from "turnwright";
import {
  type Conversation,
  type ConversationOptions,
  type ConversationStore,
  createConversation,
  fileConversationStore,
  memoryConversationStore,
  postgresConversationStore,
  type RunOverrides,
} from "turnwright/conversation";
import { createMockProvider, fail, type MockProvider, type MockScript, stall, text, toolCall, usage } from "turnwright/testing";
import { show } from "./stage.ts";

const dig = defineTool({ name: "dig", description: "Digs a hole", inputSchema: { type: "object" }, execute: () => "gold" });
const pay = defineTool({
  name: "pay",
  description: "Pays a bill",
  inputSchema: { type: "object" },
  needsApproval: true,
  execute: () => "paid",
});

interface Stage {
  readonly conversation: Conversation;
  readonly provider: MockProvider;
  /** Makes another object for the same conversation, like one in another process. */
  another(changes?: Partial<ConversationOptions>): Conversation;
}

function open(script: MockScript, changes: Partial<ConversationOptions> = {}, run: RunOverrides = {}): Stage {
  const provider = createMockProvider(script);
  const options = { provider, tools: [dig, pay], ...run };
  const given = { id: "chat-17", store: memoryConversationStore(), options, ...changes };
  const another: Stage["another"] = (more) => createConversation({ ...given, ...more });
  return { conversation: another(), provider, another };
}

const sent = ({ provider }: Stage): readonly string[] => show(provider.requests.at(-1)?.messages ?? []);

describe("send", () => {
  it("sends the messages of all earlier runs, also those of other objects", async () => {
    const stage = open([toolCall("dig"), text("Gold."), text("At noon."), text("Bye.")]);
    const { conversation, provider, another } = stage;
    expect((await conversation.send("What is there?")).text).toBe("Gold.");
    await another().send("When was it found?");
    const result = await conversation.send({ role: "user", content: "Bye!" });
    const transcript = [
      "user: What is there?",
      "model: dig()",
      "tool: dig completed",
      "model: Gold.",
      "user: When was it found?",
      "model: At noon.",
      "user: Bye!",
      "model: Bye.",
    ];
    expect(sent(stage)).toEqual(transcript.slice(0, -1));
    expect(show(result.messages)).toEqual(transcript);
    expect(show(await another().messages())).toEqual(transcript);
  });

  it("sends several messages in one run, and keeps `pinned` and parts", async () => {
    const { conversation, provider } = open([text("Yes."), text("Good.")]);
    const parts: UserMessage = { role: "user", content: [{ type: "text", text: "Look." }], pinned: true };
    await conversation.send([parts, { role: "user", content: "Is it right?" }]);
    await conversation.send("Go on.");
    expect(provider.requests.at(-1)?.messages[0]).toEqual(parts);
    expect((await conversation.messages())[0]).toEqual(parts);
  });

  it("stores the message before the run begins", async () => {
    const seen: (readonly string[])[] = [];
    const stage = open(() => {
      void Promise.resolve(stage.another().messages()).then((messages) => seen.push(show(messages)));
      return [text("Yes.")];
    });
    await stage.conversation.send("Is it on?");
    expect(seen).toEqual([["user: Is it on?"]]);
  });

  it("keeps a message whose run failed, and answers it without a new one", async () => {
    const stage = open([fail({ status: 401, message: "No key" }), text("Now it works.")]);
    const { conversation, provider } = stage;
    const { status } = await conversation.send("Is it on?");
    expect([status, show(await conversation.messages())]).toEqual(["error", ["user: Is it on?"]]);
    await conversation.send();
    expect(sent(stage)).toEqual(["user: Is it on?"]);
    expect(show(await conversation.messages())).toEqual(["user: Is it on?", "model: Now it works."]);
  });

  it("refuses to run if nothing waits for an answer", async () => {
    const { conversation, provider } = open([text("Yes.")]);
    await expect(conversation.send()).rejects.toMatchObject({ code: "invalid-option", details: { option: "message" } });
    await conversation.send("Is it on?");
    await expect(conversation.send([])).rejects.toMatchObject({ code: "invalid-option", details: { option: "message" } });
    expect([provider.calls, (await conversation.usage()).runs]).toEqual([1, 1]);
    // The refusals have released the lock.
    await expect(conversation.send("One more?")).resolves.toMatchObject({ status: "error" });
  });

  it("keeps the messages of an interrupted run, and sends the interruption with the next one", async () => {
    const control = createLoopControl();
    const script: MockScript = (_request, index) => {
      if (index > 0) return [text("Rain.")];
      control.interrupt("In one sentence.");
      return [text("Once upon a time"), stall()];
    };
    const stage = open(script, {}, { control });
    const first = await stage.conversation.send("Tell me of the weather.");
    expect(first.reason.kind).toBe("interrupted");
    const { undelivered } = (await stage.another().status()) ?? {};
    expect(undelivered).toEqual([{ role: "user", content: "In one sentence." }]);
    await stage.another().send();
    expect(sent(stage)).toEqual(["user: Tell me of the weather.", "user: In one sentence."]);
    expect((await stage.conversation.status())?.undelivered).toEqual([]);
  });

  it("stores the transcript of a stopped run, and sends its undelivered message before the next one", async () => {
    const control = createLoopControl();
    const tool = defineTool({
      name: "dig",
      description: "Digs a hole",
      inputSchema: { type: "object" },
      execute: () => {
        control.steer("Leave the gold out.");
        control.stop();
      },
    });
    const stage = open([toolCall("dig"), text("Stones.")], {}, { control, tools: [tool] });
    const { status, undelivered } = await stage.conversation.send("Dig!");
    expect([status, undelivered.length]).toEqual(["stopped-by-user", 1]);
    await stage.conversation.send("Go on.");
    expect(sent(stage)).toEqual([
      "user: Dig!",
      "model: dig()",
      "tool: dig interrupted",
      "user: Leave the gold out.",
      "user: Go on.",
    ]);
  });

  it("merges the options of one run into those of the conversation", async () => {
    const seen: unknown[] = [];
    const look = defineTool({
      name: "look",
      description: "Looks",
      inputSchema: { type: "object" },
      execute: (_args, { session }) => void seen.push(session),
    });
    const stage = open(() => [toolCall("look")], {}, { tools: [look], limits: { maxIterations: 1 }, session: { locale: "nb" } });
    const first = await stage.conversation.send("Look.", { session: { userId: "ada" }, system: "Be brief.", limits: {} });
    const second = await stage.conversation.send("Look.", { session: { conversationId: "own" } });
    expect([first.reason, second.reason].map(({ kind }) => kind)).toEqual(["max-iterations", "max-iterations"]);
    expect(seen).toEqual([
      { conversationId: "chat-17", locale: "nb", userId: "ada" },
      { conversationId: "own", locale: "nb" },
    ]);
    expect(stage.provider.requests.map(({ system }) => system)).toEqual(["Be brief.", undefined]);
  });

  it("returns the validated value of `policies.output`", async () => {
    const { conversation } = open([text('{"coat":true}')]);
    const output = structuredOutput(z.object({ coat: z.boolean() }));
    const result = await conversation.send("Do I need a coat?", { policies: { output } });
    const coat: boolean | undefined = result.output?.coat;
    expect(coat).toBe(true);
  });
});

describe("stream", () => {
  it("yields the events of the run, and stores its end before `result` resolves", async () => {
    const { conversation, another } = open([toolCall("dig"), text("Gold.")]);
    const stream = conversation.stream("What is there?");
    const types = new Set<string>();
    for await (const { type } of stream) types.add(type);
    expect((await stream.result).text).toBe("Gold.");
    expect([...types]).toEqual(expect.arrayContaining(["run-start", "tool-start", "tool-end", "text-delta", "run-end"]));
    expect(show(await another().messages()).at(-1)).toBe("model: Gold.");
  });

  it("runs to the end if only `result` is awaited", async () => {
    const { conversation } = open([Array.from({ length: 500 }, (_, index) => text(`${index} `))]);
    expect((await conversation.stream("Count.").result).text).toMatch(/499$/);
  });

  it("stops the run if the reader leaves, and stores it", async () => {
    const { conversation, provider } = open([[text("Once"), stall()], text("Rain.")]);
    const stream = conversation.stream("Tell me of the weather.");
    for await (const { type } of stream) if (type === "text-delta") break;
    expect([(await stream.result).status, provider.active]).toEqual(["stopped-by-user", 0]);
    await expect(conversation.send("In short?")).resolves.toMatchObject({ text: "Rain." });
  });

  it("throws for invalid arguments at once, and rejects both ends if the conversation is busy", async () => {
    const { conversation, another, provider } = open([[text("Once"), stall()]]);
    expect(() => conversation.stream("")).toThrow(expect.objectContaining({ code: "invalid-option" }));
    const live = conversation.stream("First");
    const reader = live[Symbol.asyncIterator]();
    await reader.next();
    const refused = another().stream("Second");
    await expect(refused.result).rejects.toMatchObject({ code: "conversation-busy" });
    await expect(refused[Symbol.asyncIterator]().next()).rejects.toMatchObject({ code: "conversation-busy" });
    await reader.return?.();
    await live.result;
    expect([provider.calls, show(await another().messages())[0]]).toEqual([1, "user: First"]);
  });
});

describe("resume", () => {
  const approve = { kind: "approve" } as const;
  const waiting = async (conversation: Conversation): Promise<string> => {
    const { reason } = (await conversation.status()) ?? {};
    return reason !== undefined && "calls" in reason ? (reason.calls[0]?.id ?? "") : "";
  };

  it("continues a run that waits for an approval, and replaces the waiting result", async () => {
    const { conversation, provider } = open([toolCall("pay"), text("Paid."), text("Bye.")]);
    expect((await conversation.send("Pay it.")).status).toBe("suspended");
    expect(show(await conversation.messages()).at(-1)).toBe("tool: pay awaiting-approval");
    const result = await conversation.resume({ decisions: { [await waiting(conversation)]: approve } });
    expect(result.text).toBe("Paid.");
    expect(show(await conversation.messages())).toEqual(["user: Pay it.", "model: pay()", "tool: pay completed", "model: Paid."]);
    await conversation.send("Bye!");
    expect([provider.calls, (await conversation.usage()).runs]).toEqual([3, 2]);
  });

  it("continues in another object with the journal of the run", async () => {
    const journals = new Map<string, Journal>();
    const journal = (runId: string): Journal => {
      const known = journals.get(runId) ?? memoryJournal();
      journals.set(runId, known);
      return known;
    };
    const { conversation, another } = open([toolCall("pay"), text("Paid.")], { journal });
    await conversation.send("Pay it.");
    const stream = another().resumeStream({ decisions: { [await waiting(conversation)]: approve } });
    const types: string[] = [];
    for await (const { type } of stream) types.push(type);
    expect([(await stream.result).text, types.includes("tool-end")]).toEqual(["Paid.", true]);
    expect(show(await conversation.messages()).at(-1)).toBe("model: Paid.");
    expect([...journals.keys()]).toEqual([expect.stringMatching(/^chat-17\.1\.[0-9a-f]{8}$/)]);
  });

  it("leaves the conversation as it is if a decision is refused", async () => {
    const { conversation } = open([toolCall("pay"), text("Paid.")]);
    await conversation.send("Pay it.");
    const id = await waiting(conversation);
    await expect(conversation.resume({ decisions: { other: approve } })).rejects.toMatchObject({ code: "unknown-decision" });
    expect(await waiting(conversation)).toBe(id);
    await expect(conversation.resume({ decisions: { [id]: approve } })).resolves.toMatchObject({ text: "Paid." });
  });

  it("counts the usage of a resumed run once", async () => {
    const tokens = usage({ inputTokens: 10, outputTokens: 5 });
    const { conversation } = open(
      [
        [toolCall("pay"), tokens],
        [text("Paid."), tokens],
      ],
      {},
      { pricing: () => 1 },
    );
    await conversation.send("Pay it.");
    await conversation.resume({ decisions: { [await waiting(conversation)]: approve } });
    expect(await conversation.usage()).toMatchObject({ usage: { totalTokens: 30 }, costUSD: 2, runs: 1 });
  });

  it("tries a failed run again with `resume`", async () => {
    const { conversation } = open([toolCall("dig"), fail({ status: 401, message: "No key" }), text("Gold.")]);
    expect((await conversation.send("Dig.")).status).toBe("error");
    await expect(conversation.resume()).rejects.toMatchObject({ code: "conversation-refused" });
    const result = await conversation.resume({ resume: "retry-last" });
    expect([result.text, (await conversation.usage()).runs]).toEqual(["Gold.", 1]);
    expect(show(await conversation.messages())).toEqual(["user: Dig.", "model: dig()", "tool: dig completed", "model: Gold."]);
  });

  it("is refused without a run, after the run has ended, and without its journal", async () => {
    const { conversation, another } = open([text("Yes."), toolCall("pay")]);
    const problems: unknown[] = [];
    const refuse = (one: Conversation): Promise<unknown> =>
      one.resume().catch((error: unknown) => problems.push(isLoopError(error, "conversation-refused") && error.message));
    await refuse(conversation);
    await conversation.send("Is it on?");
    await refuse(conversation);
    await conversation.send("Pay it.");
    await refuse(another());
    expect(problems).toEqual([
      'Conversation "chat-17" has no run yet. Call send.',
      'Conversation "chat-17" has no run to resume: the last one has ended as "completed". Call send to begin another run.',
      'Conversation "chat-17" cannot resume its last run without its journal: set the option "journal", or call send.',
    ]);
    expect((await conversation.status())?.status).toBe("suspended");
  });

  it("is not needed: the next message ends the calls that wait", async () => {
    const stage = open([toolCall("pay"), text("All right.")]);
    await stage.conversation.send("Pay it.");
    await stage.another().send("Never mind.");
    expect(sent(stage)).toEqual(["user: Pay it.", "model: pay()", "tool: pay not-run", "user: Never mind."]);
    expect(show(await stage.conversation.messages())[2]).toBe("tool: pay not-run");
  });
});

describe("usage", () => {
  it("sums the usage and the cost of all runs, also in another object", async () => {
    const tokens = (inputTokens: number) => usage({ inputTokens, outputTokens: 1 });
    const pricing = ({ totalTokens }: Usage): number => totalTokens / 1_000;
    const { conversation, another } = open(
      [
        [text("a"), tokens(9)],
        [text("b"), tokens(19)],
      ],
      {},
      { pricing },
    );
    expect(await conversation.usage()).toMatchObject({ usage: { totalTokens: 0 }, costUSD: 0, runs: 0 });
    await conversation.send("1");
    await another().send("2");
    expect(await another().usage()).toMatchObject({
      usage: { inputTokens: 28, outputTokens: 2, totalTokens: 30 },
      costUSD: 0.03,
      runs: 2,
    });
  });

  it("has an unknown cost from the first run whose cost is unknown", async () => {
    const costs = [1, undefined, 1];
    const { conversation, provider } = open([text("a"), text("b"), text("c")], {}, { pricing: () => costs[provider.calls - 1] });
    const seen: (number | undefined)[] = [];
    for (const message of ["1", "2", "3"]) {
      await conversation.send(message);
      seen.push((await conversation.usage()).costUSD);
    }
    expect(seen).toEqual([1, undefined, undefined]);
  });
});

describe("fork", () => {
  it("continues apart from the conversation it was made from, with no usage yet", async () => {
    const { conversation, provider } = open([text("Coat."), text("Hat."), text("Boots.")], {}, { pricing: () => 1 });
    await conversation.send("What do I need?");
    const fork = await conversation.fork("chat-18");
    expect([fork.id, await fork.usage()]).toMatchObject(["chat-18", { usage: { totalTokens: 0 }, costUSD: 0, runs: 0 }]);
    await conversation.send("And on Monday?");
    await fork.send("And on Sunday?");
    expect(show(await conversation.messages())).toEqual([
      "user: What do I need?",
      "model: Coat.",
      "user: And on Monday?",
      "model: Hat.",
    ]);
    expect(show(await fork.messages())).toEqual([
      "user: What do I need?",
      "model: Coat.",
      "user: And on Sunday?",
      "model: Boots.",
    ]);
    expect([provider.calls, (await fork.usage()).costUSD]).toEqual([3, 1]);
  });

  it("copies the first messages, and never a call without its result", async () => {
    const { conversation } = open([toolCall("dig"), text("Gold."), text("Silver.")]);
    await conversation.send("Dig.");
    for (const atMessage of [2, 5]) {
      const refused = conversation.fork("chat-18", { atMessage });
      await expect(refused).rejects.toMatchObject({ code: "invalid-option", details: { option: "atMessage" } });
    }
    const fork = await conversation.fork("chat-18", { atMessage: 3 });
    expect(show(await fork.messages())).toEqual(["user: Dig.", "model: dig()", "tool: dig completed"]);
    expect((await fork.send()).text).toBe("Silver.");
  });

  it("ends the calls that wait in the copy only", async () => {
    const { conversation } = open([toolCall("pay"), text("Paid.")]);
    await conversation.send("Pay it.");
    const fork = await conversation.fork("chat-18");
    expect(show(await fork.messages()).at(-1)).toBe("tool: pay not-run");
    expect((await conversation.status())?.status).toBe("suspended");
  });

  it("is refused for an id in use, and for a conversation without messages", async () => {
    const { conversation } = open([text("Yes.")]);
    await expect(conversation.fork("chat-18")).rejects.toMatchObject({ code: "conversation-refused" });
    await conversation.send("Is it on?");
    await conversation.fork("chat-18");
    await expect(conversation.fork("chat-18")).rejects.toMatchObject({ code: "conversation-refused" });
    await expect(conversation.fork("chat-17")).rejects.toMatchObject({ code: "conversation-refused" });
  });
});

describe("invalid arguments", () => {
  const untouchable: ConversationStore = new Proxy({} as ConversationStore, {
    get: (_target, name) => () => {
      throw new Error(`The store was called: ${String(name)}.`);
    },
  });
  const hostile = ["", ".", "..", "../x", "a/b", "a\\b", "a\0b", "a\nb", "\ud800", "x".repeat(201), 7, undefined];

  it.each(hostile)("refuse the id %j before any I/O", async (id) => {
    const { conversation } = open([], { store: untouchable });
    expect(() => open([], { id: id as string, store: untouchable })).toThrow(
      expect.objectContaining({ code: "invalid-option", details: expect.objectContaining({ option: "id" }) }),
    );
    await expect(conversation.fork(id as string)).rejects.toMatchObject({ code: "invalid-option" });
    for (const store of [
      memoryConversationStore(),
      fileConversationStore("/dev/null/none"),
      postgresConversationStore(untouchable as never),
    ]) {
      const calls = [
        async () => store.load(id as string),
        async () => store.lock(id as string),
        async () => store.remove(id as string),
      ];
      for (const call of calls) await expect(call()).rejects.toMatchObject({ code: "invalid-option" });
    }
  });

  const provider = createMockProvider([]);
  const wrong: readonly [string, object, string][] = [
    ["no store", { id: "a", options: { provider } }, "store"],
    ["a store without lock", { id: "a", store: { load() {}, remove() {} }, options: { provider } }, "store"],
    ["no options", { id: "a", store: untouchable }, "options"],
    ["an unknown option", { id: "a", store: untouchable, options: { provider }, journals: 1 }, "journals"],
    ["no provider", { id: "a", store: untouchable, options: {} }, "provider"],
    ["messages", { id: "a", store: untouchable, options: { provider, messages: [] } }, "messages"],
    ["a run id", { id: "a", store: untouchable, options: { provider, runId: "r" } }, "runId"],
    [
      "a wrong limit",
      { id: "a", store: untouchable, options: { provider, limits: { maxIterations: -1 } } },
      "limits.maxIterations",
    ],
    ["a wrong wait", { id: "a", store: untouchable, options: { provider }, waitMs: -1 }, "waitMs"],
  ];
  it.each(wrong)("refuse %s", (_title, options, option) => {
    expect(() => createConversation(options as ConversationOptions)).toThrow(
      expect.objectContaining({ details: expect.objectContaining({ option }) }),
    );
  });

  const forged: readonly [string, unknown][] = [
    ["a blank text", " "],
    ["a message of the model", { role: "assistant", content: [] }],
    [
      "a tool result in a list",
      [
        { role: "user", content: "Hello" },
        { role: "tool", results: [] },
      ],
    ],
    ["a number", 7],
  ];
  it.each(forged)("refuse %s as a new message", async (_title, message) => {
    const { conversation } = open([], { store: untouchable });
    await expect(conversation.send(message as string)).rejects.toMatchObject({ details: { option: "message" } });
    await expect(conversation.send("Hello", { decisions: {} } as RunOverrides)).rejects.toMatchObject({
      details: { option: "decisions" },
    });
  });
});
