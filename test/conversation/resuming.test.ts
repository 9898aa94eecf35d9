import { describe, expect, it } from "vitest";
import { createLoopControl, isLoopError, type Journal, memoryJournal } from "turnwright";
import type { Conversation } from "turnwright/conversation";
import { guardrails, type InputCheck } from "turnwright/middleware";
import { fail, type MockScript, stall, text, toolCall, usage } from "turnwright/testing";
import { open, sent } from "./chat-stage.ts";
import { show } from "./stage.ts";

const check: InputCheck = { name: "topic", check: ({ text: said }) => ({ kind: said.includes("Evil") ? "refuse" : "pass" }) };

describe("conversation.resume()", () => {
  const approve = { kind: "approve" } as const;
  const waiting = async (conversation: Conversation): Promise<string> => {
    const { reason } = (await conversation.status()) ?? {};
    return reason !== undefined && "calls" in reason ? (reason.calls[0]?.id ?? "") : "";
  };

  it("continues a run waiting for an approval, and replaces the result of the waiting call", async () => {
    const { conversation, provider } = open([toolCall("pay"), text("Paid."), text("Bye.")]);
    expect((await conversation.send("Pay it.")).status).toBe("suspended");
    expect(show(await conversation.messages()).at(-1)).toBe("tool: pay awaiting-approval");
    const result = await conversation.resume({ answers: { [await waiting(conversation)]: approve } });
    expect(result.text).toBe("Paid.");
    expect(show(await conversation.messages())).toEqual(["user: Pay it.", "model: pay()", "tool: pay completed", "model: Paid."]);
    await conversation.send("Bye!");
    expect([provider.calls, (await conversation.usage()).runs]).toEqual([3, 2]);
  });

  it("continues a run that another conversation object started, with that run's journal", async () => {
    const journals = new Map<string, Journal>();
    const journal = (runId: string): Journal => {
      const known = journals.get(runId) ?? memoryJournal();
      journals.set(runId, known);
      return known;
    };
    const { conversation, another } = open([toolCall("pay"), text("Paid.")], { journal });
    await conversation.send("Pay it.");
    const stream = another().resumeStream({ answers: { [await waiting(conversation)]: approve } });
    const types: string[] = [];
    for await (const { type } of stream) types.push(type);
    expect([(await stream.result).text, types.includes("tool-end")]).toEqual(["Paid.", true]);
    expect(show(await conversation.messages()).at(-1)).toBe("model: Paid.");
    expect([...journals.keys()]).toEqual([expect.stringMatching(/^chat-17-[0-9a-f]{16}\.1\.[0-9a-f]{8}$/)]);
  });

  it.each<[title: string, script: MockScript, message: string]>([
    ["is complete", () => text("Yes."), "Hello."],
    ["was interrupted by a message", [stall(), text("Yes.")], "Interrupt me."],
    ["was refused by an input check", () => text("Yes."), "Evil."],
  ])('does not continue a run that %s, even with resume: "retry-last"', async (_title, script, message) => {
    const { conversation } = open(script, {}, { middleware: [guardrails({ input: [check] })] });
    const control = createLoopControl();
    const sending = conversation.stream(message, { control });
    for await (const { type } of sending)
      if (type === "iteration-start" && message === "Interrupt me.") control.interrupt("And now?");
    await sending.result;
    const before = [await conversation.messages(), await conversation.status()];
    await expect(conversation.resume({ resume: "retry-last" })).rejects.toMatchObject({ code: "conversation-refused" });
    expect([await conversation.messages(), await conversation.status()]).toEqual(before);
    expect((await conversation.send("Hello.")).status).toBe("completed");
    const users = show(await conversation.messages()).filter((line) => line === "user: And now?");
    expect(users.length).toBe(message === "Interrupt me." ? 1 : 0);
  });

  it("leaves the conversation unchanged after refusing a decision", async () => {
    const { conversation } = open([toolCall("pay"), text("Paid.")]);
    await conversation.send("Pay it.");
    const id = await waiting(conversation);
    await expect(conversation.resume({ answers: { other: approve } })).rejects.toMatchObject({ code: "unknown-decision" });
    expect(await waiting(conversation)).toBe(id);
    await expect(conversation.resume({ answers: { [id]: approve } })).resolves.toMatchObject({ text: "Paid." });
  });

  it("counts a resumed run's usage once", async () => {
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
    await conversation.resume({ answers: { [await waiting(conversation)]: approve } });
    expect(await conversation.usage()).toMatchObject({ usage: { totalTokens: 30 }, costUSD: 2, runs: 1 });
  });

  it('retries a failed run with `resume: "retry-last"`', async () => {
    const { conversation } = open([toolCall("dig"), fail({ status: 401, message: "No key" }), text("Gold.")]);
    expect((await conversation.send("Dig.")).status).toBe("error");
    await expect(conversation.resume()).rejects.toMatchObject({ code: "conversation-refused" });
    const result = await conversation.resume({ resume: "retry-last" });
    expect([result.text, (await conversation.usage()).runs]).toEqual(["Gold.", 1]);
    expect(show(await conversation.messages())).toEqual(["user: Dig.", "model: dig()", "tool: dig completed", "model: Gold."]);
  });

  it("is refused if there is no unfinished run or the run has no journal", async () => {
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
      'Conversation "chat-17" has no run to resume: the last one ended as "completed". Call send to begin another.',
      'Conversation "chat-17" cannot resume its last run without its journal: set the option "journal", or end the run with cancel.',
    ]);
    expect((await conversation.status())?.status).toBe("suspended");
  });

  it('is optional with whenSuspended: "deny", because the next message denies waiting calls', async () => {
    const stage = open([toolCall("pay"), text("All right.")], { whenSuspended: "deny" });
    await stage.conversation.send("Pay it.");
    await stage.another().send("Never mind.");
    expect(sent(stage)).toEqual(["user: Pay it.", "model: pay()", "tool: pay denied", "user: Never mind."]);
    expect(show(await stage.conversation.messages())[2]).toBe("tool: pay denied");
  });
});
