import { describe, expect, it } from "vitest";
import { type LoopOptions, maskResults, memoryJournal, type Message, runToolLoop, runNested } from "turnwright";
import { createMockProvider, fail, text, toolCall } from "turnwright/testing";
import { createDurableStore } from "../durable-store.ts";
import { play, tool } from "../play.ts";
import { masksOf, playIterations, search, turnsOf } from "./masking-stage.ts";

describe("the `force` option of maskResults", () => {
  it("is read before each iteration, but cannot unmask results", async () => {
    const force = new Set<number>();
    const tools = [
      tool("search", (_, { iteration }) => {
        if (iteration === 2) force.add(0);
        if (iteration === 3) force.clear();
        return "x".repeat(4_000);
      }),
    ];
    const { provider, result } = play(turnsOf(4), { tools, middleware: [maskResults({ keepIterations: 9, force })] });
    await result;
    expect(masksOf(provider.requests)).toEqual(["", "", "", "c0", "c0"]);
  });

  it("is not read for recorded iterations, so a replay sends the same requests", async () => {
    const force = new Set<number>();
    const tools = [tool("search", (_, { iteration }) => (force.add(iteration - 1), "x".repeat(4_000)))];
    const options: Partial<LoopOptions> = { tools, middleware: [maskResults({ keepIterations: 9, force })] };
    const first = play(turnsOf(5), options);
    await first.result;
    const { steps } = memoryJournal(JSON.parse(JSON.stringify((await first.result).journal))).toJSON();
    const kept = Object.fromEntries(Object.entries(steps).filter(([key]) => !/^i4\/(request\/model|call|next)|^i5/.test(key)));
    const none = new Set<number>();
    const again = play([toolCall("search", {}, { id: "c4" }), text("Done.")], {
      ...options,
      middleware: [maskResults({ keepIterations: 9, force: none })],
      journal: memoryJournal({ steps: kept }),
    });
    await again.result;
    expect(masksOf(first.provider.requests)).toEqual(["", "", "c0", "c0 c1", "c0 c1 c2", "c0 c1 c2 c3"]);
    // Iteration 4 began before the crash, so the request repeats its recorded masks. Iteration 5 had not begun.
    expect(masksOf(again.provider.requests)).toEqual(["c0 c1 c2", "c0 c1 c2"]);
    expect(again.provider.requests[0]?.messages).toEqual(first.provider.requests[4]?.messages);
  });
});

describe("maskResults in a resumed run", () => {
  const masking = maskResults({ keepIterations: 1 });

  it("sends the same requests after a crash at any record", async () => {
    const whole = playIterations(5, { middleware: [masking] });
    await whole.result;
    for (let records = 1; records < 24; records += 1) {
      const store = createDurableStore();
      const requests: (readonly Message[])[] = [];
      const options = (): LoopOptions => ({
        provider: createMockProvider((request) => {
          const at = request.iteration;
          requests[at] = [...request.messages];
          return turnsOf(5)[at];
        }),
        messages: [{ role: "user", content: "Go." }],
        tools: [{ ...search(), replay: "safe" }],
        middleware: [masking],
        runId: `masked-${records}`,
        journal: store.open(),
      });
      await expect(runToolLoop({ ...options(), journal: store.open({ afterRecords: records }) })).rejects.toThrow(
        "The process died.",
      );
      await runToolLoop(options());
      expect(requests).toEqual(whole.provider.requests.map(({ messages }) => messages));
    }
  });

  it('emits the same "masked" events in a replay', async () => {
    const first = playIterations(3, { middleware: [masking] });
    const journal = memoryJournal(JSON.parse(JSON.stringify((await first.result).journal)));
    const again = playIterations(3, { middleware: [masking], journal });
    const { runId } = await again.result;
    expect(again.recording.of("masked")).toEqual(
      first.recording.of("masked").map((event) => ({ ...event, runId, replayed: true })),
    );
  });

  it('sends the same masked request with resume: "retry-last"', async () => {
    const turns = [...turnsOf(3).slice(0, 3), [text("Half"), fail({ status: 400 })], text("Done.")];
    const first = play(turns, { tools: [search()], middleware: [masking] });
    const { journal, status } = await first.result;
    const again = play([text("Done.")], {
      ...first.options,
      provider: createMockProvider([text("Done.")]),
      journal: memoryJournal(JSON.parse(JSON.stringify(journal))),
      resume: "retry-last",
      control: undefined,
    });
    const provider = again.options.provider as ReturnType<typeof createMockProvider>;
    expect([status, (await again.result).text]).toEqual(["error", "Done."]);
    expect(provider.requests[0]?.messages).toEqual(first.provider.requests[3]?.messages);
    expect(masksOf(provider.requests)).toEqual(["c0 c1"]);
  });
});

it("maskResults in a nested run masks according to its own policy and iterations", async () => {
  const inner = createMockProvider(turnsOf(3));
  const nested = tool("nested", async (_, context) => {
    const { text: said } = await runNested(context, {
      provider: inner,
      messages: [{ role: "user", content: "Go." }],
      tools: [search()],
      middleware: [maskResults({ keepIterations: 1 })],
    });
    return said;
  });
  const { provider, recording, result } = play([toolCall("nested"), ...turnsOf(2)], { tools: [nested, search()] });
  await result;
  expect([masksOf(inner.requests), masksOf(provider.requests)]).toEqual([
    ["", "", "c0", "c0 c1"],
    ["", "", "", ""],
  ]);
  expect(recording.of("masked").map(({ path }) => path)).toEqual([["call_i0_0"], ["call_i0_0"]]);
});
