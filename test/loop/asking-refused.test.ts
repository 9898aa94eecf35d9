import { describe, expect, it } from "vitest";
import {
  type ApprovalDecision,
  approve,
  isLoopError,
  type LoopOptions,
  memoryJournal,
  processResults,
  type SavedJournal,
} from "turnwright";
import { createMockProvider, fail } from "turnwright/testing";
import { both, savedOf, setUp } from "./asking-stage.ts";
import { type Playing, tool } from "./play.ts";

describe("options.answers", () => {
  const refused = async (
    playing: Playing,
    code: `${"unknown" | "invalid"}-decision` | "invalid-option" | "tools-changed",
  ): Promise<unknown> => {
    const thrown: unknown = await playing.result.catch((error: unknown) => error);
    expect([isLoopError(thrown, code), playing.provider.calls]).toEqual([true, 0]);
    return isLoopError(thrown) ? thrown.details : undefined;
  };

  it.for<[why: string, id: string]>([
    ["an unknown call", "call_i9_9"],
    ["a call that has run", "call_i0_1"],
    ["a nested call that does not exist", "call_i0_0/call_i0_0"],
    ["the inherited key __proto__", "__proto__"],
    ["a first attempt by its number", "call_i0_0~1"],
    ["an attempt with a leading zero", "call_i0_0~01"],
  ])("are rejected before any request if one decision names %s", async ([, id]) => {
    const { ran, start } = setUp();
    const journal = await savedOf(start());
    const answers = JSON.parse(
      JSON.stringify({ ...both("approve"), "?": { kind: "approve" } }).replace('"?"', JSON.stringify(id)),
    );
    expect(await refused(start({ journal, answers }), "unknown-decision")).toEqual({
      call: id,
      waiting: ["call_i0_0", "call_i0_2"],
    });
    expect(ran).toEqual(["call_i0_1"]);
  });

  it("are rejected in a retry of a failed run, without changing the journal", async () => {
    const { start } = setUp();
    const failed = start({ provider: createMockProvider([fail({ status: 400 })]) });
    expect((await failed.result).status).toBe("error");
    const journal = await savedOf(failed);
    const before = journal.keys();
    await refused(start({ journal, resume: "retry-last", answers: both("approve") }), "unknown-decision");
    expect(journal.keys()).toEqual(before);
  });

  it("are rejected before processResults is called", async () => {
    const looked: string[] = [];
    const processor = (name: string): string => (looked.push(name), name);
    const { start } = setUp({ middleware: [processResults({ processor }), approve(() => ({ kind: "approve" }))] });
    const saved = JSON.parse(JSON.stringify((await start().result).journal)) as SavedJournal;
    const kept = Object.entries(saved.steps).filter(([key]) => key.startsWith("i0/") && key !== "i0/results");
    looked.length = 0;
    const journal = memoryJournal({ steps: Object.fromEntries(kept) });
    await refused(start({ journal, answers: { nobody: { kind: "approve" } } }), "unknown-decision");
    expect(looked).toEqual([]);
  });

  it("are rejected if they differ from the recorded decisions", async () => {
    const { start } = setUp();
    const second = start({ journal: await savedOf(start()), answers: both("approve") });
    const journal = await savedOf(second);
    await refused(start({ journal, answers: both("deny") }), "unknown-decision");
  });

  it.for<[policy: string, options: Partial<LoopOptions>]>([
    ["an", {}],
    ["no", { middleware: [] }],
  ])("are rejected by a new run with %s approval policy", async ([, options]) => {
    const { start } = setUp();
    await refused(start({ answers: both("approve"), ...options }), "unknown-decision");
  });

  it.for<[what: string, answers: unknown]>([
    ["an array", [{ kind: "approve" }]],
    ["an inherited modification", { call_i0_0: Object.assign(Object.create({ args: {} }), { kind: "modify" }) }],
    ["a modification without arguments", { call_i0_0: { kind: "modify" } }],
    ["a modification that JSON cannot represent", { call_i0_0: { kind: "modify", args: 7n } }],
  ])("are rejected if they contain %s", async ([, answers]) => {
    const { start } = setUp();
    await refused(start({ answers: answers as NonNullable<LoopOptions["answers"]> }), "invalid-option");
  });

  it("are rejected if they contain an unknown kind for a call waiting for approval", async () => {
    const { start } = setUp();
    const answers = { call_i0_0: { kind: "yes" } };
    const details = await refused(start({ journal: await savedOf(start()), answers }), "invalid-decision");
    expect(details).toMatchObject({ call: "call_i0_0", waitsFor: "approval", problem: 'is "yes"' });
  });

  it("are rejected if the waiting call's tool no longer exists", async () => {
    const { ran, start } = setUp();
    const journal = await savedOf(start());
    const keys = journal.keys();
    for (const answers of [undefined, both("approve")]) {
      const details = await refused(start({ journal, tools: [tool("look", () => 1)], answers }), "tools-changed");
      expect(details).toEqual({ changed: ["pay"], changes: [{ toolName: "pay", kind: "removed" }] });
      expect(journal.keys()).toEqual(keys);
    }
    expect((await start({ journal, answers: both("approve") }).result).text).toBe("Done.");
    expect(ran).toHaveLength(3);
  });
});

it("options.answers are ignored by an aborted run, even if they are invalid", async () => {
  const { start } = setUp();
  const journal = await savedOf(start());
  const abort = new AbortController();
  abort.abort();
  const answers: { [id: string]: ApprovalDecision } = { nobody: { kind: "approve" } };
  expect((await start({ journal, answers, signal: abort.signal }).result).status).toBe("stopped-by-user");
});
