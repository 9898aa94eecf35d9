import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { approve, defineAgentTool, type LoopOptions, runToolLoop } from "turnwright";
import { fileJournal, inspectJournal } from "turnwright/journal";
import { createMockProvider, text, toolCall } from "turnwright/testing";
import { tool } from "../loop/play.ts";
import { makeFolder, readRecords } from "./folder.ts";
import { keepings } from "./keepings.ts";

const messages = [{ role: "user" as const, content: "Go." }];
const read = tool("read", () => "page");

/** The model calls a tool in each iteration, and answers in the last one. */
const provider = (iterations: number): LoopOptions["provider"] =>
  createMockProvider(({ iteration }) => (iteration < iterations - 1 ? toolCall("read") : text("Done.")));

function execute(journal: LoopOptions["journal"], maxIterations: number, version?: string): ReturnType<typeof runToolLoop> {
  return runToolLoop({
    provider: provider(5),
    tools: [read],
    messages,
    runId: "run",
    journal,
    limits: { maxIterations },
    version,
  });
}

describe.for(keepings)("the `version` option with %s", ([, keep]) => {
  it("is recorded at the start and whenever the version changes", async () => {
    const open = keep();
    const versions = async (): Promise<readonly unknown[]> => {
      const { version, lastVersion } = await inspectJournal(open());
      return [version, lastVersion];
    };
    await execute(open(), 1, "1.0");
    expect(await versions()).toEqual(["1.0", "1.0"]);
    await execute(open(), 2, "1.1");
    expect(await versions()).toEqual(["1.0", "1.1"]);
    await execute(open(), 3);
    expect(await versions()).toEqual(["1.0", "1.1"]);
    await execute(open(), 4, "1.0");
    expect(await versions()).toEqual(["1.0", "1.0"]);
    expect((await execute(open(), 5, "2.0")).text).toBe("Done.");
    expect(await versions()).toEqual(["1.0", "2.0"]);
  });

  it("is recorded even if only a later execution sets the option", async () => {
    const open = keep();
    await execute(open(), 1);
    await execute(open(), 5, "1.1");
    expect(await inspectJournal(open())).toMatchObject({ status: "completed", version: undefined, lastVersion: "1.1" });
  });

  it("is not recorded again if a different version is passed to a finished run", async () => {
    const open = keep();
    await execute(open(), 5, "1.0");
    await execute(open(), 5, "2.0");
    expect(await inspectJournal(open())).toMatchObject({ version: "1.0", lastVersion: "1.0" });
  });

  it("is recorded again if a different version continues a suspended run", async () => {
    const open = keep();
    const options: Omit<LoopOptions, "journal"> = {
      provider: provider(2),
      tools: [read],
      messages,
      runId: "run",
      middleware: [approve(() => ({ kind: "ask" }))],
    };
    const first = await runToolLoop({ ...options, version: "1.0", journal: open() });
    const id = first.reason.kind === "approval-required" ? (first.reason.calls[0]?.id ?? "") : "";
    await runToolLoop({ ...options, version: "2.0", journal: open(), answers: { [id]: { kind: "approve" } } });
    expect(await inspectJournal(open())).toMatchObject({ status: "completed", version: "1.0", lastVersion: "2.0" });
  });
});

describe("the `version` option", () => {
  it("adds one field to the records in which the version changes, and nothing else", async () => {
    const path = join(makeFolder(), "run.jsonl");
    await execute(fileJournal(path), 2, "1.0");
    await execute(fileJournal(path), 5, "2.0");
    const found = readRecords(path).filter(({ answer }) => JSON.stringify(answer).includes("codeVersion"));
    expect(found.map(({ key, answer }) => [key, (answer as { codeVersion: string }).codeVersion])).toEqual([
      ["run", "1.0"],
      ["i1/next#2", "2.0"],
    ]);
  });

  it("adds nothing to the records of a run without a version", async () => {
    const path = join(makeFolder(), "run.jsonl");
    await execute(fileJournal(path), 5);
    expect(readFileSync(path, "utf8")).not.toContain("odeVersion");
  });

  it("is not inherited by nested runs", async () => {
    const path = join(makeFolder(), "run.jsonl");
    const agent = (version?: string): NonNullable<LoopOptions["tools"]> => [
      defineAgentTool({
        name: "read",
        description: "Reads",
        inputSchema: { type: "object" },
        prepare: () => ({ provider: provider(1), messages, version }),
      }),
    ];
    const options = { provider: provider(2), messages, version: "1.0" };
    await runToolLoop({ ...options, runId: "a", tools: agent(), journal: fileJournal(path) });
    const inner = readRecords(path).filter(({ key }) => key.startsWith("i0/call/0/read/tool/run/"));
    expect([inner.length > 0, JSON.stringify(inner).includes("codeVersion")]).toEqual([true, false]);
    const second = join(makeFolder(), "run.jsonl");
    await runToolLoop({ ...options, runId: "b", tools: agent("inner"), journal: fileJournal(second) });
    const start = readRecords(second).find(({ key }) => key === "i0/call/0/read/tool/run/run");
    expect(start?.answer).toMatchObject({ codeVersion: "inner" });
    expect(await inspectJournal(second)).toMatchObject({ version: "1.0", lastVersion: "1.0" });
  });

  it.for([[""], [7], [null]])("is rejected with the value %j", async ([version]) => {
    await expect(execute(undefined, 1, version as string)).rejects.toMatchObject({
      code: "invalid-option",
      details: { option: "version" },
    });
  });
});
