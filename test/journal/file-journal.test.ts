import { existsSync, readFileSync, statSync } from "node:fs";
import { open as openFile } from "node:fs/promises";
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, it, vi } from "vitest";
import { createLoopControl, isLoopError, type Json, runToolLoop, streamToolLoop } from "turnwright";
import { fileJournal } from "turnwright/journal";
import type { FileJournalOptions } from "../../src/journal/journal-session.ts";
import { createMockProvider, text, toolCall } from "turnwright/testing";
import { never, tool } from "../loop/play.ts";
import { runOver, untouched } from "./file-run.ts";
import { makeFolder, readRecords } from "./folder.ts";

const setUp = (): { readonly folder: string; readonly path: string } => {
  const folder = makeFolder();
  return { folder, path: join(folder, "run.jsonl") };
};

describe("fileJournal", () => {
  it("writes a header and one line per step, in a file that only the owner can read", async () => {
    const { path, folder } = setUp();
    const { options } = runOver(path);
    const result = await runToolLoop(options);
    expect([result.text, result.journal]).toEqual(["Done.", options.journal]);
    expect(
      readRecords(path)
        .map(({ key }) => key)
        .join(" "),
    ).toMatchInlineSnapshot(
      `"run begin i0/request/model i0/call/0/save/begun i0/call/1/save/begun i0/call/0/save/outcome i0/call/1/save/outcome i0/next i1/request/model i1/answered"`,
    );
    const [head = ""] = readFileSync(path, "utf8").split("\n");
    expect(JSON.parse(head)).toEqual({ format: "turnwright-journal", version: 1 });
    expect(readRecords(path)[0]).toMatchObject({
      key: "run",
      answer: { version: 4, runId: path, tools: { save: { description: expect.any(String), inputSchema: expect.any(Object) } } },
    });
    expect([statSync(path).mode & 0o077, existsSync(join(folder, "run.jsonl.lock"))]).toEqual([0, false]);
  });

  it("replays a finished run from the same or a new journal object, and writes nothing", async () => {
    const { path } = setUp();
    const first = runOver(path);
    const { journal: own } = await runToolLoop(first.options);
    const bytes = readFileSync(path);
    for (const journal of [own, fileJournal(path)]) {
      const { options, ran } = runOver(path);
      const provider = createMockProvider([]);
      expect((await runToolLoop({ ...options, provider, journal })).text).toBe("Done.");
      expect([provider.calls, ran, readFileSync(path).equals(bytes)]).toEqual([0, [], true]);
    }
  });

  it("rejects a different run id, replays finished calls without their tools, and leaves the file unchanged", async () => {
    const { path } = setUp();
    await runToolLoop(runOver(path).options);
    const bytes = readFileSync(path);
    await expect(runToolLoop({ ...runOver(path).options, runId: "other" })).rejects.toMatchObject({ code: "journal-mismatch" });
    expect((await runToolLoop({ ...runOver(path).options, tools: [] })).text).toBe("Done.");
    expect([readFileSync(path).equals(bytes), existsSync(`${path}.lock`)]).toEqual([true, false]);
  });

  it("releases the lock if the run is killed or the stream reader stops", async () => {
    const { path } = setUp();
    const { options } = runOver(path);
    expect(existsSync(path)).toBe(false);
    const control = createLoopControl();
    const hang = tool("save", () => (control.kill(), never));
    const killed = await runToolLoop({ ...options, tools: [hang], control });
    expect([killed.reason.kind, existsSync(`${path}.lock`)]).toEqual(["killed", false]);
    const stream = streamToolLoop({ ...runOver(path).options, tools: [hang], resume: "retry-last" });
    for await (const event of stream) if (event.type === "iteration-start") break;
    await stream.result;
    expect(existsSync(`${path}.lock`)).toBe(false);
  });

  it("resumes a run that control.drain() has suspended", async () => {
    const { path } = setUp();
    const control = createLoopControl();
    const draining = tool("save", (args) => (control.drain(), args));
    const first = await runToolLoop({ ...runOver(path).options, tools: [draining], control });
    const second = runOver(path);
    const result = await runToolLoop(second.options);
    expect([first.status, result.text, second.ran]).toEqual(["suspended", "Done.", []]);
  });

  it("returns the same values to a live run and to a resumed run", async () => {
    const { path } = setUp();
    let deep: Json = "x";
    for (let level = 0; level < 900; level += 1) deep = level % 2 === 0 ? [deep] : { in: deep };
    const answers: ReadonlyMap<string, unknown> = new Map<string, unknown>([
      ["a hostile key", JSON.parse('{"__proto__":{"constructor":1}}')],
      ["a date", new Date(0)],
      ["nothing", undefined],
      ["null", null],
      ["halves of characters", "a\ud800b\udfff\u2028\0\n"],
      ["much", "ä".repeat(3_000_000)],
      ["many levels", deep],
      ["numbers", [Number.NaN, -0, 1e300]],
      ["holes", { a: undefined, b: [undefined] }],
      ["__proto__", 1],
      ["constructor", 2],
      ["", 3],
    ]);
    const journal = fileJournal(path, { fsync: false });
    const close = await journal.open();
    const live = await Promise.all([...answers].map(async ([key, value]) => journal.step(key, () => ({ value }))));
    await close();
    const closeAgain = await journal.open();
    const recalled = await Promise.all([...answers.keys()].map(async (key) => journal.step(key, untouched)));
    await closeAgain();
    expect(recalled).toStrictEqual(live);
    const plain = [...answers.values()].map((value) => JSON.stringify({ value }));
    expect([live, recalled].map((all) => all.map((answer) => JSON.stringify(answer)))).toEqual([plain, plain]);
  });

  it("rejects a step that fails or does not return JSON, and still accepts other steps", async () => {
    const { path } = setUp();
    const journal = fileJournal(path);
    const close = await journal.open();
    await expect(journal.step("a", untouched)).rejects.toThrow("run again");
    await expect(journal.step("b", () => ({ n: 1n }))).rejects.toThrow("BigInt");
    expect(await journal.step("c", () => ({ n: 1 }))).toEqual({ n: 1 });
    await close();
    expect(readRecords(path).map(({ key }) => key)).toEqual(["c"]);
  });

  it("calls datasync once for simultaneous records, and never with `fsync: false`", async () => {
    const { path } = setUp();
    const probe = await openFile(join(path, "..", "probe"), "a");
    await probe.close();
    const prototype: { appendFile(): Promise<void>; datasync(): Promise<void> } = Object.getPrototypeOf(probe);
    const datasync = vi.spyOn(prototype, "datasync");
    const wave = [toolCall("save"), toolCall("save"), toolCall("save"), toolCall("save")];
    const script = [wave, text("Done.")];
    await runToolLoop({ ...runOver(path, { fsync: true }).options, provider: createMockProvider(script) });
    // One datasync for the run, begin, the request, the begun calls, their outcomes, next, the request and answered.
    expect(datasync).toHaveBeenCalledTimes(8);
    datasync.mockClear();
    await runToolLoop({ ...runOver(join(path, "..", "other.jsonl")).options, provider: createMockProvider(script) });
    expect(datasync).not.toHaveBeenCalled();
    datasync.mockRestore();
  });

  it("records every step that succeeds, in whatever order the steps finish", async () => {
    const { folder } = setUp();
    let count = 0;
    const ends = fc.record({ ticks: fc.nat(4), size: fc.nat(200), fails: fc.boolean() });
    await fc.assert(
      fc.asyncProperty(fc.array(fc.array(ends, { minLength: 1, maxLength: 6 }), { maxLength: 6 }), async (waves) => {
        const path = join(folder, `${(count += 1)}.jsonl`);
        const journal = fileJournal(path, { fsync: false });
        const close = await journal.open();
        const kept = new Map<string, { readonly text: string }>();
        const lanes = waves.map(async (wave, lane) => {
          const steps = wave.map(async ({ ticks, size, fails }, index) =>
            journal.step(`${lane}/${index}`, async () => {
              for (let tick = 0; tick < ticks; tick += 1) await new Promise(setImmediate);
              if (fails) throw new Error("no");
              return { text: "é".repeat(size) };
            }),
          );
          const settled = await Promise.allSettled(steps);
          settled.forEach((end, index) => end.status === "fulfilled" && kept.set(`${lane}/${index}`, end.value));
        });
        await Promise.all(lanes);
        await close();
        const records = existsSync(path) && kept.size > 0 ? readRecords(path) : [];
        expect(new Map(records.map(({ key, answer }) => [key, answer]))).toEqual(kept);
        expect(records).toHaveLength(kept.size);
        const closeAgain = await journal.open();
        for (const [key, answer] of kept) expect(journal.step(key, untouched)).toEqual(answer);
        await closeAgain();
      }),
      { numRuns: 60 },
    );
  });

  it("rejects a step that starts or ends while the journal is closed", async () => {
    const { path } = setUp();
    const journal = fileJournal(path);
    await expect(journal.step("a", untouched)).rejects.toMatchObject({ code: "journal-closed", details: { path } });
    const close = await journal.open();
    let finish = (): void => {};
    const late = journal.step("a", () => new Promise<object>((resolve) => (finish = () => resolve({ n: 1 }))));
    await Promise.all([close(), close()]);
    const closeAgain = await journal.open();
    finish();
    await expect(late).rejects.toMatchObject({ code: "journal-closed" });
    await closeAgain();
    expect(readFileSync(path, "utf8")).toBe("");
  });
});

describe("fileJournal with the `redact` option", () => {
  it("changes the records and the resumed run, but not the live run", async () => {
    const { path } = setUp();
    const seen: string[] = [];
    const redact: FileJournalOptions["redact"] = ({ key, answer }) => {
      seen.push(key);
      const text = JSON.stringify(answer).replaceAll("sesame", "******");
      // `redact` may change its argument, because it receives a copy.
      if (typeof answer === "object" && answer !== null)
        for (const name of Object.keys(answer)) Reflect.deleteProperty(answer, name);
      return JSON.parse(text) as Json;
    };
    const options = {
      ...runOver(path, { redact }).options,
      tools: [tool("save", () => ({ password: "sesame" }))],
      provider: createMockProvider([toolCall("save", { open: "sesame" }), text("It is sesame.")]),
    };
    const live = await runToolLoop(options);
    expect([live.text, JSON.stringify(live.messages).match(/sesame/g)?.length]).toEqual(["It is sesame.", 3]);
    expect(readFileSync(path, "utf8")).not.toContain("sesame");
    expect(seen).toEqual(readRecords(path).map(({ key }) => key));
    const again = await runToolLoop({ ...options, provider: createMockProvider([]) });
    expect([again.text, JSON.stringify(again.messages)]).toEqual([
      "It is ******.",
      JSON.stringify(live.messages).replaceAll("sesame", "******"),
    ]);
  });

  it.for<[what: string, redact: NonNullable<FileJournalOptions["redact"]>, message: string]>([
    [
      "throws",
      () => {
        throw new Error("no rule for it");
      },
      "no rule for it",
    ],
    [
      "returns undefined",
      () => undefined as never,
      'Option "redact" is undefined, but must be a function that returns plain data, not a promise.',
    ],
    ["returns a promise", () => Promise.resolve(1) as never, "is a promise, but must be"],
  ])("rejects the step and records nothing if the redact function %s", async ([, atTool, message]) => {
    const { path } = setUp();
    const { options } = runOver(path, { redact: (record) => (record.key.endsWith("/outcome") ? atTool(record) : record.answer) });
    await expect(runToolLoop(options)).rejects.toThrow(message);
    expect(readRecords(path).at(-1)?.key).toBe("i0/call/1/save/begun");
    expect(existsSync(`${path}.lock`)).toBe(false);
    const result = await runToolLoop(runOver(path).options);
    expect(result.messages[2]).toMatchObject({ results: [{ outcome: "interrupted" }, { outcome: "interrupted" }] });
  });
});

it.for<[title: string, make: () => unknown, code: string]>([
  ["an empty path", () => fileJournal(""), "invalid-option"],
  ["a path that is a number", () => fileJournal(7 as never), "invalid-option"],
  ["an fsync option that is a number", () => fileJournal("x", { fsync: 1 as never }), "invalid-option"],
  ["a redact option that is not a function", () => fileJournal("x", { redact: true as never }), "invalid-option"],
  ["an unknown option", () => fileJournal("x", { onTorn: () => {} } as never), "unknown-option"],
])("fileJournal throws for %s", ([, make, code]) => {
  let thrown: unknown;
  try {
    make();
  } catch (error) {
    thrown = error;
  }
  expect(isLoopError(thrown) && thrown.code).toBe(code);
});
