// Tests whole runs. A script plays the model, so that each run takes milliseconds and always does the same.

import assert from "node:assert/strict";
import { test } from "node:test";
import { memoryJournal, runToolLoop } from "turnwright";
import { createMockProvider, text, toolCall } from "turnwright/testing";
import { script } from "../src/script.ts";
import { offlineServices } from "../src/services.ts";
import { createTools, type Services } from "../src/tools.ts";

const messages = [{ role: "user" as const, content: "Book a table for four, please." }];

function startBooking() {
  const booked: Parameters<Services["book"]>[0][] = [];
  const book: Services["book"] = async (booking) => {
    booked.push(booking);
    return { id: "b1" };
  };
  const tools = Object.values(createTools({ ...offlineServices, book }));
  return { booked, options: { provider: script, tools, messages, runId: "booking-1", journal: memoryJournal() } };
}

await test("a booking waits for a person, and then happens once", async () => {
  const { booked, options } = startBooking();
  const first = await runToolLoop(options);
  assert.equal(first.status, "suspended");
  assert.equal(booked.length, 0);

  const [call] = first.pendingCalls;
  const second = await runToolLoop({ ...options, answers: { [call?.id ?? ""]: { kind: "approve" } } });
  assert.equal(second.text, "Table 7 is yours.");
  assert.deepEqual(
    booked.map(({ table }) => table),
    [7],
  );
});

await test("a booking that a person denies does not happen", async () => {
  const { booked, options } = startBooking();
  const [call] = (await runToolLoop(options)).pendingCalls;
  const { text: said } = await runToolLoop({ ...options, answers: { [call?.id ?? ""]: { kind: "deny" } } });
  assert.equal(said, "I did not book a table.");
  assert.equal(booked.length, 0);
});

await test("the model corrects a call with invalid arguments", async () => {
  const provider = createMockProvider([
    toolCall("find_table", { guests: "four" }),
    toolCall("find_table", { guests: 4 }),
    text("Table 7 is free."),
  ]);
  const { findTable } = createTools(offlineServices);
  const result = await runToolLoop({ provider, tools: [findTable], messages });
  assert.deepEqual(
    result.calls.map(({ outcome }) => outcome),
    ["invalid-input", "completed"],
  );
});
