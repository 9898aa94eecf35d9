import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, describe, expect, it } from "vitest";
import { fileJournal } from "turnwright/journal";
import { type Journal, memoryJournal } from "turnwright";
import { text, toolCall } from "turnwright/testing";
import { open } from "./chat-stage.ts";
import { makeFolder, removeFolders, show } from "./stage.ts";

afterAll(removeFolders);

const question = { role: "user", content: "Pay." } as const;

/** The journal fails at the step with this number, and at all later steps. */
function failAt(count: number): (runId: string) => Journal {
  const journal = memoryJournal();
  let steps = 0;
  const step: Journal["step"] = (key, body) => {
    steps += 1;
    if (steps >= count) throw new Error("The disk is full.");
    return journal.step(key, body);
  };
  return () => ({ ...journal, durable: true, step });
}

describe("a conversation whose journal fails", () => {
  it("rejects the first run and stores nothing if the journal cannot be opened", async () => {
    const folder = makeFolder();
    let name = "locked";
    const journal = () => fileJournal(join(folder, name));
    writeFileSync(join(folder, "locked.lock"), "");
    const held = fileJournal(join(folder, "locked"));
    const close = await held.open();
    const { conversation, provider } = open([text("Paid.")], { journal });
    await expect(conversation.send(question)).rejects.toMatchObject({ code: "journal-locked" });
    expect([await conversation.messages(), await conversation.status(), provider.calls]).toEqual([[], undefined, 0]);
    await close();
    name = "free";
    await conversation.send(question);
    expect(show(await conversation.messages())).toEqual(["user: Pay.", "model: Paid."]);
    expect(await conversation.usage()).toMatchObject({ runs: 1 });
  });

  it.each(["send", "stream"] as const)(
    "leaves its suspended run unchanged if %s() cannot write the first record",
    async (verb) => {
      let isBroken = false;
      const broken = failAt(1);
      const kept = memoryJournal();
      const journal = (runId: string) => (isBroken ? broken(runId) : kept);
      const { conversation } = open([toolCall("pay"), text("Paid.")], { journal, whenSuspended: "deny" });
      await conversation.send(question);
      const before = [await conversation.messages(), await conversation.status(), await conversation.usage()];
      isBroken = true;
      const failed = verb === "send" ? conversation.send("Hello?") : conversation.stream("Hello?").result;
      await expect(failed).rejects.toThrow("The disk is full.");
      expect([await conversation.messages(), await conversation.status(), await conversation.usage()]).toEqual(before);
      isBroken = false;
      const { text: answer } = await conversation.resume({ answers: { call_i0_0: { kind: "approve" } } });
      expect(answer).toBe("Paid.");
    },
  );

  it("can be removed together with the journals of unfinished runs", async () => {
    const removed: string[] = [];
    const fails = failAt(4);
    const removeJournal = (runId: string) => void removed.push(runId.split(".")[1] ?? "");
    const journal = (runId: string) => (runId.includes(".2.") ? fails(runId) : memoryJournal());
    const { conversation, another } = open(() => text("Paid."), { journal, removeJournal, keepRuns: 9 });
    for (const message of ["One", "Two", "Three"]) await conversation.send(message).catch(() => undefined);
    await another().remove();
    expect(removed).toEqual(["1", "2", "3"]);
  });

  it("can be removed together with the journal of its unfinished last run", async () => {
    const removed: string[] = [];
    const removeJournal = (runId: string) => void removed.push(runId.split(".")[1] ?? "");
    const { conversation } = open(() => text("Paid."), { journal: failAt(4), removeJournal });
    await expect(conversation.send("One")).rejects.toThrow("The disk is full.");
    await conversation.remove();
    expect(removed).toEqual(["1"]);
  });

  it("keeps the message of a run that fails after its first record", async () => {
    const { conversation } = open([text("Paid.")], { journal: failAt(2) });
    await expect(conversation.send(question)).rejects.toThrow("The disk is full.");
    expect(show(await conversation.messages())).toEqual(["user: Pay."]);
    expect(await conversation.status()).toMatchObject({ status: "running" });
  });
});
