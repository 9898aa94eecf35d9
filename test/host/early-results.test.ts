import { expect, it } from "vitest";
import { defer } from "turnwright";
import type { ResumeAnswer } from "turnwright/host";
import { createMockProvider, text, toolCall } from "turnwright/testing";
import { createStage, readAll, readStart, textOf, tool } from "./stage.ts";

it('host.resume() with whenBusy: "queue": uses a result that arrived before the suspension as soon as the run is suspended', async () => {
  const stage = createStage();
  const { host, id, clock } = stage;
  const sent: string[] = [];
  let resuming: Promise<ResumeAnswer> | undefined;
  const provider = createMockProvider(({ iteration }) =>
    iteration === 0 ? [toolCall("render"), toolCall("slow")] : text("Done."),
  );
  const render = tool("render", (_, { runId, callId }) => {
    sent.push(runId, callId);
    const answers = { [callId]: { kind: "result" as const, result: "film.mp4" } };
    resuming = host.resume(id, { provider, tools, clock, answers, whenBusy: "queue" });
    return defer();
  });
  const slow = tool("slow", () => new Promise((done) => void clock.setTimeout(() => done("slow"), 1_000)));
  const tools = [render, slow];
  const started = readStart(host.start(id, { provider, tools, clock, message: "Render." }));
  await clock.flush();
  expect(await host.resume(id, { provider, tools, clock })).toMatchObject({ kind: "busy" });
  await clock.advance(1_000);
  expect((await started).reason.kind).toBe("result-required");
  expect(await resuming).toMatchObject({ kind: "started", runId: `${id}/1` });
  expect(textOf(await readAll(host.join(id)))).toBe("Done.");
  expect(sent).toEqual([`${id}/1`, "call_i0_0"]);
  await expect(host.resume(id, { provider, whenBusy: "steer" as "queue" })).rejects.toThrow('"whenBusy"');
});
