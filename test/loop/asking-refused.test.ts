// Decisions about calls that do not wait for one, and values that are not decisions.

import { describe, expect, it } from "vitest";
import {
  type ApprovalDecision,
  isLoopError,
  type LoopOptions,
  memoryJournal,
  processResults,
  type SavedJournal,
} from "turnwright";
import { createMockProvider, fail } from "turnwright/testing";
import { both, savedOf, setUp } from "./asking-stage.ts";
import { type Playing, tool } from "./play.ts";

describe("a decision is refused, before anything runs or is asked for,", () => {
  const refused = async (playing: Playing, code: "unknown-decision" | "invalid-option" | "tools-changed"): Promise<unknown> => {
    const thrown: unknown = await playing.result.catch((error: unknown) => error);
    expect([isLoopError(thrown, code), playing.provider.calls]).toEqual([true, 0]);
    return isLoopError(thrown) ? thrown.details : undefined;
  };

  it.for<[why: string, id: string]>([
    ["about a call that nobody knows", "call_i9_9"],
    ["about a call that has run", "call_i0_1"],
    ["about a call inside one that has none", "call_i0_0/call_i0_0"],
    ["about a key of every object", "__proto__"],
  ])("%s", async ([, id]) => {
    const { ran, start } = setUp();
    const journal = await savedOf(start());
    const decisions = JSON.parse(
      JSON.stringify({ ...both("approve"), "?": { kind: "approve" } }).replace('"?"', JSON.stringify(id)),
    );
    expect(await refused(start({ journal, decisions }), "unknown-decision")).toEqual({
      call: id,
      waiting: ["call_i0_0", "call_i0_2"],
    });
    expect(ran).toEqual(["call_i0_1"]);
  });

  it("where a run that failed is to be tried again, which stays as it was", async () => {
    const { start } = setUp();
    const failed = start({ provider: createMockProvider([fail({ status: 400 })]) });
    expect((await failed.result).status).toBe("error");
    const journal = await savedOf(failed);
    const before = journal.keys();
    await refused(start({ journal, resume: "retry-last", decisions: both("approve") }), "unknown-decision");
    expect(journal.keys()).toEqual(before);
  });

  it("where results are left to be looked at, which costs nothing", async () => {
    const looked: string[] = [];
    const processor = (name: string): string => (looked.push(name), name);
    const { start } = setUp({ policies: { approve: () => ({ kind: "approve" }), results: processResults({ processor }) } });
    const saved = JSON.parse(JSON.stringify((await start().result).journal)) as SavedJournal;
    const kept = Object.entries(saved.steps).filter(([key]) => key.startsWith("i0/") && key !== "i0/results");
    looked.length = 0;
    const journal = memoryJournal({ steps: Object.fromEntries(kept) });
    await refused(start({ journal, decisions: { nobody: { kind: "approve" } } }), "unknown-decision");
    expect(looked).toEqual([]);
  });

  it("where it is another one than before", async () => {
    const { start } = setUp();
    const second = start({ journal: await savedOf(start()), decisions: both("approve") });
    const journal = await savedOf(second);
    await refused(start({ journal, decisions: both("deny") }), "unknown-decision");
  });

  it("where the run is a new one", async () => {
    const { start } = setUp();
    await refused(start({ decisions: both("approve") }), "unknown-decision");
  });

  it.for<[what: string, decisions: unknown]>([
    ["no object", [{ kind: "approve" }]],
    ["true", { call_i0_0: true }],
    ["of another kind", { call_i0_0: { kind: "yes" } }],
    ["an edit without arguments", { call_i0_0: { kind: "modify" } }],
    ["an edit that is no data", { call_i0_0: { kind: "modify", args: 7n } }],
  ])("that is %s", async ([, decisions]) => {
    const { start } = setUp();
    await refused(start({ decisions: decisions as NonNullable<LoopOptions["decisions"]> }), "invalid-option");
  });

  it("where nobody is asked about anything", async () => {
    const { start } = setUp();
    await refused(start({ decisions: both("approve"), policies: {} }), "unknown-decision");
  });

  it("where the tool of a call that waits is gone: nothing that waits is answered or forgotten", async () => {
    const { ran, start } = setUp();
    const journal = await savedOf(start());
    const keys = journal.keys();
    for (const decisions of [undefined, both("approve")]) {
      const details = await refused(start({ journal, tools: [tool("look", () => 1)], decisions }), "tools-changed");
      expect(details).toEqual({ changed: ["pay"], changes: [{ toolName: "pay", kind: "removed" }] });
      expect(journal.keys()).toEqual(keys);
    }
    expect((await start({ journal, decisions: both("approve") }).result).text).toBe("Done.");
    expect(ran).toHaveLength(3);
  });
});

it("decisions that a run did not come to, because it was ended before, do not cost its result", async () => {
  const { start } = setUp();
  const journal = await savedOf(start());
  const abort = new AbortController();
  abort.abort();
  const decisions: { [id: string]: ApprovalDecision } = { nobody: { kind: "approve" } };
  expect((await start({ journal, decisions, signal: abort.signal }).result).status).toBe("stopped-by-user");
});
