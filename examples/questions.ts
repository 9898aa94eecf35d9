// A tool that asks two questions. Each answer comes in another execution with the same journal file, as after a crash. Run it
// with `npx tsx examples/questions.ts`.

import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { z } from "zod";
import { ask, defineTool, type LoopOptions, type LoopResult, runToolLoop } from "turnwright";
import { fileJournal, inspectJournal } from "turnwright/journal";
import { createMockProvider, text, toolCall } from "turnwright/testing";

const folder = mkdtempSync(join(tmpdir(), "turnwright-questions-"));
const file = join(folder, "run.jsonl");
const booked: string[] = [];

const bookRoom = defineTool({
  name: "book_room",
  description: "Books a hotel room",
  inputSchema: z.object({ hotel: z.string() }),
  durable: true,
  async execute({ hotel }, context) {
    const { city } = await ask(context, { question: "Which city?", schema: z.object({ city: z.string().min(2) }) });
    const name = await ask(context, { question: `Whose name is on the booking in ${city}?` });
    booked.push(`${hotel} in ${city} for ${name}`);
    return { booked: true };
  },
});

/** Stands for one process. Only the journal file remains after it. */
function runOnce(answers?: LoopOptions["answers"]): Promise<LoopResult> {
  const provider = createMockProvider(({ messages }) =>
    messages.length === 1 ? [toolCall("book_room", { hotel: "Grand Hotel" })] : text("The room is booked."),
  );
  const messages = [{ role: "user" as const, content: "Book the Grand Hotel." }];
  return runToolLoop({ provider, tools: [bookRoom], messages, runId: "trip-7", journal: fileJournal(file), answers });
}

async function questionIn(journalFile: string): Promise<{ readonly id: string; readonly text: string }> {
  const { pendingCalls } = await inspectJournal(fileJournal(journalFile));
  const [call] = pendingCalls;
  if (call?.state !== "awaiting-result" || call.question === undefined) throw new Error("No call has a question.");
  return { id: call.id, text: call.question.text };
}

try {
  assert.equal((await runOnce()).reason.kind, "result-required");

  // Another process reads the question from the file, and asks the user.
  const first = await questionIn(file);
  assert.equal(first.text, "Which city?");

  // An answer that does not match the schema is refused, and the call still waits.
  await assert.rejects(runOnce({ [first.id]: { kind: "result", result: "Oslo" } }), { code: "invalid-decision" });

  assert.equal((await runOnce({ [first.id]: { kind: "result", result: { city: "Oslo" } } })).reason.kind, "result-required");
  const second = await questionIn(file);
  assert.equal(second.text, "Whose name is on the booking in Oslo?");

  const result = await runOnce({ [second.id]: { kind: "result", result: "Ann" } });
  assert.equal(result.text, "The room is booked.");
  assert.deepEqual(booked, ["Grand Hotel in Oslo for Ann"]);
  console.log(booked[0]);
} finally {
  rmSync(folder, { recursive: true });
}
