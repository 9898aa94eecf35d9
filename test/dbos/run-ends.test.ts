import { DBOS } from "@dbos-inc/dbos-sdk";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { RunEnds } from "../../src/dbos/worker.ts";

beforeEach(() => void vi.useFakeTimers({ toFake: ["setTimeout"] }));
afterEach(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
});

type Found = Awaited<ReturnType<typeof DBOS.listWorkflows>>;

it("RunEnds: polls less and less often until DBOS has stored the end of a run, then notifies all processes", async () => {
  const live = [{ workflowID: "a", executorId: "me" }] as Found;
  const read = vi.spyOn(DBOS, "listWorkflows").mockResolvedValue(live);
  const told: string[] = [];
  const notify = async (runIds: readonly string[]): Promise<void> => void told.push(...runIds);
  const ends = new RunEnds({ workerId: "me", stopping: new AbortController().signal, notify });
  ends.add("a");
  await vi.advanceTimersByTimeAsync(1_000);
  const early = read.mock.calls.length;
  await vi.advanceTimersByTimeAsync(60_000);
  expect([early, read.mock.calls.length, told]).toEqual([6, 66, []]);
  read.mockResolvedValue([]);
  await vi.advanceTimersByTimeAsync(1_000);
  expect([told, ends.has("a")]).toEqual([["a"], false]);
  read.mockClear();
  await vi.advanceTimersByTimeAsync(60_000);
  expect(read).not.toHaveBeenCalled();
});
