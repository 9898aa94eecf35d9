import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { contextRestart, createLoopControl, isLoopError, runToolLoop } from "turnwright";
import { readRunLog, rerunFrom, runLog } from "turnwright/inspect";
import { fileJournal } from "turnwright/journal";
import { createMockProvider, fail, text, toolCall } from "turnwright/testing";
import { makeFolder } from "../journal/folder.ts";
import { kinds, ran, runFirst, runSecond, tool, tools } from "./rerun-runs.ts";
import { addWatchers } from "../add-watchers.ts";

describe("rerunFrom", () => {
  it.for(kinds)("repeats a steered message that is recorded in the run's %s", async (kind) => {
    const control = createLoopControl();
    const late = tool("late", () => control.steer("In German, please."));
    const options = { control, tools: [...tools, late] };
    const files = await runFirst({ script: [toolCall("late"), text("Fertig."), text("Mehr.")], options });
    const { provider, log } = await runSecond(files[kind], 1, { tools });
    expect(provider.requests[0]?.messages.at(-1)).toEqual({ role: "user", content: "In German, please." });
    expect(log.runs[0]?.lines.filter(({ type }) => type === "steered")).toMatchObject([{ iteration: 1 }]);
  });

  it.for(kinds)("repeats a run from its %s if the run continued after the first answer", async (kind) => {
    const control = createLoopControl();
    const provider = createMockProvider(({ iteration }) => {
      if (iteration === 0) control.steer("And then?");
      return text(`Answer ${iteration}.`);
    });
    const files = await runFirst({ script: [], options: { control, provider } });
    const { provider: other } = await runSecond(files[kind], 1);
    expect(other.requests[0]?.messages.map(({ role }) => role)).toEqual(["user", "assistant", "user"]);
  });

  it.for(kinds)("repeats a run from its %s if the run was retried", async (kind) => {
    const folder = makeFolder();
    const files = { log: join(folder, "run.jsonl"), journal: join(folder, "journal.jsonl") };
    const script = [toolCall("look"), fail({ status: 400, message: "no" }), toolCall("look"), text("Done.")];
    const provider = createMockProvider(script);
    const options = { provider, tools, messages: [{ role: "user", content: "Go." }], runId: "first" } as const;
    const run = (resume?: "retry-last"): Promise<unknown> =>
      runToolLoop(addWatchers({ ...options, journal: fileJournal(files.journal), resume }, runLog({ to: files.log })));
    await run();
    await run("retry-last");
    const { provider: other, ran: again } = await runSecond(files[kind], 2);
    expect([other.requests[0]?.messages.map(({ role }) => role), again]).toEqual([
      ["user", "assistant", "tool", "assistant", "tool"],
      [],
    ]);
  });

  it("continues with different tools from the given iteration", async () => {
    const files = await runFirst({ script: [toolCall("look"), toolCall("look"), text("Done.")] });
    const find = tool("find", () => "found");
    const provider = createMockProvider([toolCall("find"), toolCall("look"), text("New.")]);
    const options = await rerunFrom(files.log, { iteration: 1 }, { provider, tools: [find] });
    ran.length = 0;
    const result = await runToolLoop(options);
    expect([ran, result.status, result.iterations]).toEqual([["find"], "completed", 4]);
    expect(result.functionHistory.map(({ functionCall, outcome }) => [functionCall.name, outcome])).toEqual([
      ["look", "completed"],
      ["find", "completed"],
      ["look", "unknown-tool"],
    ]);
    expect(result.runId).not.toBe("first");
  });

  it("repeats a rerun from its own log", async () => {
    const files = await runFirst({ script: [toolCall("look"), toolCall("long"), text("Done.")] });
    const second = join(makeFolder(), "second.jsonl");
    const options = await rerunFrom(
      files.log,
      { iteration: 1 },
      { provider: createMockProvider([toolCall("long"), text("B.")]), tools },
    );
    await runToolLoop(addWatchers(options, runLog({ to: second })));
    const { provider, log, ran: again } = await runSecond(second, 2);
    expect([provider.requests[0]?.messages.length, again, log.runs[0]?.iterations.length]).toEqual([5, [], 3]);
  });

  it("repeats a context restart from a journal, but not from a log", async () => {
    const restart = tool("restart", () => contextRestart({ type: "context_restart_more", data: "Berlin" } as never));
    const options = { tools: [...tools, restart] };
    const files = await runFirst({ script: [toolCall("look"), toolCall("restart"), text("Done.")], options });
    const refused = await runSecond(files.log, 2).catch((error: unknown) => error);
    if ((await readRunLog(files.log)).runs[0]?.lines.some(({ type }) => type === "restart") === true)
      expect(refused).toMatchObject({
        code: "rerun-refused",
        message: expect.stringContaining("Choose iteration 1 or an earlier one"),
      });
    expect((await runSecond(files.journal, 2, options)).ran).toEqual([]);
  });

  it("rejects an iteration that the run does not have", async () => {
    const files = await runFirst({ script: [toolCall("look"), text("Done.")] });
    for (const source of [files.log, files.journal])
      await expect(runSecond(source, 2)).rejects.toMatchObject({
        code: "rerun-refused",
        message: "The run cannot be repeated from iteration 2: it has iterations 0 to 1. Choose one of these.",
      });
    await expect(rerunFrom(files.log, { iteration: -1 }, {} as never)).rejects.toMatchObject({ code: "invalid-option" });
    await expect(rerunFrom(files.log, { iteration: 0, runId: "other" }, {} as never)).rejects.toMatchObject({
      code: "rerun-refused",
      message: expect.stringContaining("Choose one of: first"),
    });
  });

  it("rejects the repeated run's id as the new run's id", async () => {
    const files = await runFirst({ script: [toolCall("look"), text("Done.")] });
    await expect(runSecond(files.log, 1, { runId: "first" })).rejects.toMatchObject({ code: "invalid-option" });
  });

  it("rejects, before any request, options that would end the run before the given iteration", async () => {
    const files = await runFirst({ script: [toolCall("broken"), toolCall("broken"), text("Done.")] });
    const provider = createMockProvider([text("New.")]);
    const options = await rerunFrom(files.log, { iteration: 2 }, { provider, limits: { maxConsecutiveToolErrors: 1 } });
    const error = await runToolLoop(options).catch((thrown: unknown) => thrown);
    expect([isLoopError(error, "rerun-refused") && error.message, provider.requests]).toEqual([
      "The run cannot be repeated from iteration 2: with these options, the run ends at iteration 0 (tool-error-cap).",
      [],
    ]);
    await expect(runSecond(files.log, 2, { limits: { maxIterations: 2 } })).rejects.toMatchObject({ code: "rerun-refused" });
  });

  it("applies a limit from the log only if it is lower than the default", async () => {
    const files = await runFirst({ script: [toolCall("look"), text("Done.")] });
    const log = await readRunLog(files.log);
    const limits = {
      ...{ maxIterations: "Infinity", maxRestarts: 1_000_000, maxDepth: 1, maxToolCalls: 30, maxTokens: "Infinity" },
      ...{ maxCostUSD: 5, toolConcurrency: "2", unknown: 1 },
    };
    const edited = { ...log, runs: log.runs.map((run) => ({ ...run, limits })) };
    const provider = createMockProvider([text("Done.")]);
    expect((await rerunFrom(edited, { iteration: 1 }, { provider })).limits).toEqual({
      maxDepth: 1,
      maxToolCalls: 30,
      maxCostUSD: 5,
    });
    const own = { maxToolCalls: 50, maxIterations: 200 };
    expect((await rerunFrom(edited, { iteration: 1 }, { provider, limits: own })).limits).toMatchObject(own);
  });

  it("writes a journal from which the new run can be resumed", async () => {
    const files = await runFirst({ script: [toolCall("look"), text("Done.")] });
    const provider = createMockProvider([toolCall("pay"), text("New.")]);
    const journal = fileJournal(join(makeFolder(), "second.jsonl"), { fsync: false });
    const options = await rerunFrom(files.log, { iteration: 1 }, { provider, tools, runId: "second", journal });
    const waiting = await runToolLoop(options);
    const [call] = waiting.pendingCalls;
    const result = await runToolLoop({ ...options, answers: { [call?.callId ?? ""]: { kind: "approve" } } });
    expect([waiting.status, result.status, result.text]).toEqual(["suspended", "completed", "New."]);
  });
});
