// A run with a journal file: resumed after a crash, without secrets in the file, and replayed.

import assert from "node:assert/strict";
import { appendFileSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createLoopControl, defineTool, isLoopError, type Json, type Message, runToolLoop } from "turnwright";
import { fileBlobStore, fileJournal, inspectJournal, type JournalRecord, replayJournal, withBlobs } from "turnwright/journal";
import { createMockProvider, text, toolCall } from "turnwright/testing";

const folder = mkdtempSync(join(tmpdir(), "runs-"));
const messages: readonly Message[] = [{ role: "user", content: "Order the book." }];
let orders = 0;
const tools = [
  defineTool({
    name: "order",
    description: "Orders a book",
    inputSchema: { type: "object" },
    execute: () => ({ order: ++orders, card: "4929 1111" }),
  }),
];
const provider = createMockProvider([toolCall("order"), text("It is on its way.")]);
const home = process.cwd();
process.chdir(folder);

{
  // #region file
  const journal = fileJournal("order-12.jsonl");
  const result = await runToolLoop({ provider, tools, messages, runId: "order-12", journal });
  // #endregion file
  assert.equal(result.text, "It is on its way.");
  const again = await runToolLoop({ provider, tools, messages, runId: "order-12", journal: fileJournal("order-12.jsonl") });
  assert.deepEqual([again.text, provider.calls, orders], ["It is on its way.", 2, 1]);
}

{
  // #region replay
  const replayed = await runToolLoop({
    provider,
    tools,
    messages,
    runId: "order-12",
    journal: replayJournal(fileJournal("order-12.jsonl")),
  });
  // #endregion replay
  assert.deepEqual([replayed.text, provider.calls, orders], ["It is on its way.", 2, 1]);
}

{
  // #region inspect
  const { status, pendingCalls, messages: said, usage, runId, initialMessages } = await inspectJournal("order-12.jsonl");
  // #endregion inspect
  // #region inspect-go-on
  const known = { runId, messages: initialMessages, journal: fileJournal("order-12.jsonl") };
  const result = await runToolLoop({ ...known, provider, tools });
  // #endregion inspect-go-on
  assert.equal(result.text, "It is on its way.");
  assert.deepEqual([status, pendingCalls, said.length, usage.totalTokens > 0], ["completed", [], 4, true]);
}

{
  appendFileSync("order-12.jsonl", '{"sum":"00');
  const torn: string[] = [];
  const console = { warn: (line: string) => void torn.push(line) };
  // #region torn
  const journal = fileJournal("order-12.jsonl", {
    onTornLine: ({ line, bytes }) => console.warn(`Line ${line} was cut off by a crash: ${bytes} bytes of it are removed.`),
  });
  // #endregion torn
  await runToolLoop({ provider, tools, messages, runId: "order-12", journal });
  assert.deepEqual(torn, ["Line 10 was cut off by a crash: 10 bytes of it are removed."]);
}

{
  const holder = fileJournal("order-12.jsonl");
  const close = await holder.open();
  const second = runToolLoop({ provider, tools, messages, runId: "order-12", journal: fileJournal("order-12.jsonl") });
  const refusal: unknown = await second.catch((error: unknown) => error);
  assert.ok(isLoopError(refusal, "journal-locked"));
  assert.equal(refusal.details.pid, process.pid);
  await close();
}

{
  // #region redact
  const redact = ({ answer }: JournalRecord): Json => {
    const clean: Json = JSON.parse(JSON.stringify(answer).replace(/\d{4} \d{4}/g, "**** ****"));
    return clean; // keeps its shape, because a resumed run continues with it
  };
  const journal = fileJournal("order-13.jsonl", { redact });
  // #endregion redact
  const model = createMockProvider([toolCall("order"), text("Done.")]);
  await runToolLoop({ provider: model, tools, messages, runId: "order-13", journal });
  const seen = JSON.stringify(model.requests.at(-1)?.messages);
  assert.deepEqual([seen.includes("4929"), readFileSync("order-13.jsonl", "utf8").includes("4929")], [true, false]);
}

{
  // #region blobs
  const store = fileBlobStore("blobs"); // may be shared by all runs
  const journal = withBlobs(fileJournal("order-14.jsonl"), { store, minBytes: 50_000 });
  // #endregion blobs
  const read = defineTool({
    name: "read",
    description: "Reads",
    inputSchema: { type: "object" },
    execute: () => "page ".repeat(20_000),
  });
  const model = createMockProvider([toolCall("read"), text("Done.")]);
  await runToolLoop({ provider: model, tools: [read], messages, runId: "order-14", journal });
  const { status } = await inspectJournal(withBlobs(fileJournal("order-14.jsonl"), { store }));
  assert.deepEqual([status, readdirSync("blobs").length], ["completed", 1]);
  assert.ok(readFileSync("order-14.jsonl").length < 5_000);
}

{
  const records = readFileSync("order-12.jsonl", "utf8").split("\n");
  const runs = join(folder, "runs");
  mkdirSync(runs);
  writeFileSync(join(runs, "order-12.jsonl"), `${records.slice(0, 4).join("\n")}\n`); // as if the process had been killed
  const control = createLoopControl();
  const stop = { name: "stop", description: "Ends the process", inputSchema: { type: "object" }, execute: () => control.drain() };
  const journal = fileJournal(join(runs, "order-15.jsonl"));
  const before = createMockProvider([toolCall("stop")]);
  await runToolLoop({ provider: before, tools: [defineTool(stop)], messages, runId: "order-15", journal, control });
  writeFileSync(join(runs, "order-11.jsonl"), "damaged\n{}\n");
  const heldFile = join(runs, "order-13.jsonl");
  writeFileSync(heldFile, `${records.slice(0, 4).join("\n")}\n`);
  const close = await fileJournal(heldFile).open(); // as if another process ran it
  {
    const journal = fileJournal(join(folder, "cut.jsonl"));
    writeFileSync(join(folder, "cut.jsonl"), `${records.slice(0, 5).join("\n")}\n`);
    const provider = createMockProvider(() => text("It may be on its way."));
    const result = await runToolLoop({ provider, tools, messages, runId: "order-12", journal });
    // #region interrupted
    const results = result.messages.flatMap((message) => (message.role === "tool" ? message.results : []));
    const mayHaveRun = results.filter(({ outcome }) => outcome === "interrupted"); // with `callId` and `name`
    // #endregion interrupted
    assert.deepEqual(
      mayHaveRun.map(({ name }) => name),
      ["order"],
    );
  }
  const { error } = console;
  const failed: unknown[] = [];
  console.error = (name: unknown) => void failed.push(name);
  const answered: string[] = [];
  {
    const provider = createMockProvider(() => text("It is on its way."));
    // #region unfinished
    const folder = "runs"; // one file for each run
    for (const name of readdirSync(folder).filter((each) => each.endsWith(".jsonl"))) {
      try {
        const journal = fileJournal(join(folder, name));
        const { status, reason, runId, initialMessages } = await inspectJournal(journal);
        if (status !== "running" && reason?.kind !== "drained") continue; // it has ended, or waits for a decision
        const result = await runToolLoop({ provider, tools, messages: initialMessages, runId, journal });
        console.log(runId, result.status);
      } catch (error) {
        if (!isLoopError(error, "journal-locked")) console.error(name, error); // locked: another process has it
      }
    }
    // #endregion unfinished
    console.error = error;
    assert.deepEqual(failed, ["order-11.jsonl"]);
    await close();
    for (const id of [12, 13, 15]) answered.push((await inspectJournal(join(folder, `order-${id}.jsonl`))).status);
  }
  assert.deepEqual(answered, ["completed", "running", "completed"]);
}

process.chdir(home);
rmSync(folder, { recursive: true, force: true });
