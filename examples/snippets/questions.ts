// Tools that ask a person. See docs/guides/questions.md.

import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { z } from "zod";
import { ask, createLoopControl, createLoopEvents, defineTool, runToolLoop } from "turnwright";
import { fileJournal } from "turnwright/journal";
import { createMockProvider, runTool, text, toolCall } from "turnwright/testing";

const booked: string[] = [];
const { log } = console;
console.log = (line: string) => void booked.push(line);
const folder = mkdtempSync(join(tmpdir(), "questions-"));
const home = process.cwd();
process.chdir(folder);
const messages = [{ role: "user" as const, content: "Book me a room." }];
const provider = createMockProvider([[toolCall("book_room", {})], text("Booked.")]);

// #region ask
const bookRoom = defineTool({
  name: "book_room",
  description: "Books a hotel room",
  inputSchema: z.object({}),
  durable: true, // after each answer, `execute` runs again over its recorded steps
  async execute(_, context) {
    // Ask first: after each answer, the tool runs again from here.
    const { city } = await ask(context, { question: "Which city?", schema: z.object({ city: z.string().min(2) }) });
    const name = await ask(context, { question: "Which name?" }); // a string
    console.log(`Books a room in ${city} for ${name} (${context.idempotencyKey}).`); // then act
    return { city, name };
  },
});
// #endregion ask

// #region run
const options = { provider, tools: [bookRoom], messages, runId: "trip-7" };
const first = await runToolLoop({ ...options, journal: fileJournal("trip-7.jsonl") });
const [call] = first.reason.kind === "result-required" ? first.reason.calls : [];
if (call === undefined) throw new Error("The tool asked nothing.");
// `call` is { id: "call_i0_0", name: "book_room", question: { text: "Which city?", schema: { type: "object", ... } }, ... }
// #endregion run

// #region answer
// Days later, in another process:
const answers = { [call.id]: { kind: "result" as const, result: { city: "Oslo" } } };
const second = await runToolLoop({ ...options, journal: fileJournal("trip-7.jsonl"), answers });
// `second.reason.calls` now has the question "Which name?", with the id "call_i0_0#2".
// #endregion answer
assert.equal(second.reason.kind, "result-required");
const third = await runToolLoop({
  ...options,
  journal: fileJournal("trip-7.jsonl"),
  answers: { "call_i0_0#2": { kind: "result", result: "Ann" } },
});
assert.equal(third.status, "completed");
assert.deepEqual(booked, ["Books a room in Oslo for Ann (trip-7/i0/call/0/book_room)."]);
console.log = log;

// #region wait
const confirm = defineTool({
  name: "delete_files",
  description: "Deletes all files",
  inputSchema: z.object({}),
  async execute(_, context) {
    const sure = await ask(context, { question: "Delete all files?", schema: z.boolean(), wait: true });
    return sure ? "deleted" : "kept";
  },
});
const control = createLoopControl();
const events = createLoopEvents();
events.on("question-asked", ({ id, question }) => {
  console.log(question.text); // show it, and later:
  control.answer(id, { kind: "result", result: false });
});
// #endregion wait
const script = createMockProvider([[toolCall("delete_files", {})], text("Kept.")]);
const waited = await runToolLoop({ provider: script, tools: [confirm], messages, control, events });
assert.equal(JSON.stringify(waited.messages).includes('"kept"'), true);

const asked = await runTool(bookRoom, {}, { answers: [{ city: "Oslo" }] });
// `asked` is { kind: "deferred", question: { text: "Which name?", ... }, ... }
const done = await runTool(bookRoom, {}, { answers: [{ city: "Oslo" }, "Ann"] });
assert.equal(asked.kind, "deferred");
assert.equal(done.kind, "completed");
process.chdir(home);
rmSync(folder, { recursive: true });
