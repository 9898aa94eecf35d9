import { describe, expect, it } from "vitest";
import { defer } from "turnwright";
import { createMockProvider, text, toolCall } from "turnwright/testing";
import { createStage, readAll, tool } from "./stage.ts";

describe('host.resume() with whenBusy: "queue"', () => {
  it("uses two results that arrived before the suspension as soon as the run is suspended", async () => {
    const { host, clock, id } = createStage();
    const job = tool("job", () => defer());
    const slow = tool("slow", (_, { signal }) => new Promise((end) => clock.setTimeout(() => end(signal.aborted), 100)));
    const provider = createMockProvider(({ iteration }) =>
      iteration === 0 ? [toolCall("job"), toolCall("job"), toolCall("slow")] : text("Done."),
    );
    const run = { provider, tools: [job, slow], clock };
    await host.start(id, { ...run, message: "Go." });
    await clock.advance(50);
    const resultOf = (call: string) => ({ [call]: { kind: "result" as const, result: call } });
    const early = { ...run, answers: resultOf("call_i0_0") };
    expect(await host.resume(id, early)).toMatchObject({ kind: "busy" });
    const resumes = ["call_i0_0", "call_i0_1"].map((call) =>
      host.resume(id, { ...run, answers: resultOf(call), whenBusy: "queue" }),
    );
    await clock.flush();
    expect((await host.status(id))?.queued).toBe(2);
    await clock.advance(50);
    expect((await Promise.all(resumes)).map(({ kind }) => kind)).toEqual(["started", "started"]);
    await readAll(host.join(id));
    const { status, messages } = (await host.status(id)) ?? {};
    expect(status).toBe("completed");
    expect(messages?.flatMap((message) => (message.role === "tool" ? message.results.map(({ result }) => result) : []))).toEqual([
      "call_i0_0",
      "call_i0_1",
      false,
    ]);
    expect(await host.resume(id, { ...early, whenBusy: "queue" })).toMatchObject({ kind: "not-resumable" });
    await expect(host.resume(id, { ...run, whenBusy: "steer" as never })).rejects.toMatchObject({
      details: { option: "whenBusy" },
    });
    await host.close();
    expect(clock.pending).toBe(0);
  });
});
