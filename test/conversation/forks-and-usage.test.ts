import { describe, expect, it } from "vitest";
import { type Usage } from "turnwright";
import { text, toolCall, usage } from "turnwright/testing";
import { open } from "./chat-stage.ts";
import { show } from "./stage.ts";

describe("conversation.usage()", () => {
  it("adds up the usage and cost of all runs, including runs started by another conversation object", async () => {
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

  it("does not return a cost after a run whose cost is unknown", async () => {
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

describe("conversation.fork()", () => {
  it("creates an independent conversation whose usage begins at 0", async () => {
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

  it("copies the first messages, and a call only together with its result", async () => {
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

  it("ends the waiting calls in the copy, but not in the original", async () => {
    const { conversation } = open([toolCall("pay"), text("Paid.")]);
    await conversation.send("Pay it.");
    const fork = await conversation.fork("chat-18");
    expect(show(await fork.messages()).at(-1)).toBe("tool: pay not-run");
    expect((await conversation.status())?.status).toBe("suspended");
  });

  it("is refused for an id that is in use and for an empty conversation", async () => {
    const { conversation } = open([text("Yes.")]);
    await expect(conversation.fork("chat-18")).rejects.toMatchObject({ code: "conversation-refused" });
    await conversation.send("Is it on?");
    await conversation.fork("chat-18");
    await expect(conversation.fork("chat-18")).rejects.toMatchObject({ code: "conversation-refused" });
    await expect(conversation.fork("chat-17")).rejects.toMatchObject({ code: "conversation-refused" });
  });
});
