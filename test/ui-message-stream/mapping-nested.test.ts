import { describe, expect, it } from "vitest";
import { defineAgentTool } from "turnwright";
import { createMockProvider, type MockScript, text, toolCall } from "turnwright/testing";
import { tool } from "../loop/play.ts";
import { toChunks } from "./check-chunks.ts";
import { check, play, saved } from "./mapping-stage.ts";
import { readMessage, textOf, vendors } from "./vendors.ts";

describe("createUIMessageMapper with a nested run", () => {
  const inner = (
    script: MockScript,
    pay = tool("pay", () => "paid", { needsApproval: true }),
  ): ReturnType<typeof defineAgentTool> =>
    defineAgentTool({
      name: "agent",
      description: "An agent",
      inputSchema: { type: "object" },
      prepare: () => ({ messages: [{ role: "user", content: "Well?" }], provider: createMockProvider(script), tools: [pay] }),
      toResult: (result) => result.text,
    });
  /** Chooses the message by the transcript. A resumed run may use a new provider, which has counted no calls. */
  const byTranscript =
    (turns: readonly ReturnType<typeof text>[]): MockScript =>
    ({ messages }) =>
      turns[messages.filter(({ role }) => role === "assistant").length];

  it("sends the nested run's text as preliminary output of the outer call", async () => {
    const agent = inner([text("a".repeat(3_000), { chunks: 300 })]);
    const { events } = await play({ script: [toolCall("agent"), text("Done.")], tools: [agent] });
    const chunks = toChunks(events);
    await check(chunks, 6);
    const outputs = chunks.filter((chunk) => chunk.type === "tool-output-available");
    expect(outputs.at(-1)).toEqual({
      type: "tool-output-available",
      toolCallId: "r:call_i0_0",
      output: "a".repeat(3_000),
      providerExecuted: true,
    });
    expect(outputs.at(-2)).toMatchObject({
      preliminary: true,
      output: { runs: [{ path: ["call_i0_0"], status: "completed", calls: [] }] },
    });
    // Each output repeats the text so far, but the total size of all outputs must stay proportional to the text.
    expect(JSON.stringify(outputs).length).toBeLessThan(20 * 3_000);
  });

  it.each(vendors)("lets a call in the nested run wait for its own approval in AI SDK $version", async (vendor) => {
    const { version } = vendor;
    const ran: string[] = [];
    const pay = tool("pay", () => ran.push("pay"), { needsApproval: true });
    const agent = inner(byTranscript([toolCall("pay", { n: 1 }), text("Paid.")]), pay);
    const options = { script: byTranscript([toolCall("agent"), text("Done.")]), tools: [agent] };
    const first = await play(options);
    expect(first.result.reason).toMatchObject({ calls: [{ id: "call_i0_0/call_i0_0" }] });
    const chunks = toChunks(first.events, { version });
    await check(chunks, version);
    const message = await readMessage(vendor, chunks);
    const id = "r:call_i0_0/call_i0_0";
    const waits = version === 5 ? "input-available" : "approval-requested";
    const parts = message?.parts.filter(({ toolCallId }) => toolCallId !== undefined) ?? [];
    expect(parts).toMatchObject([{ state: "output-available" }, { toolCallId: id, state: waits, input: { n: 1 } }]);
    // While an output is preliminary, a page with `sendAutomaticallyWhen` would not send the decision.
    expect(parts[0]).not.toHaveProperty("preliminary");
    const second = await play({
      ...options,
      journal: saved(first.result),
      answers: { "call_i0_0/call_i0_0": { kind: "approve" } },
    });
    const live = toChunks(second.events, { version, from: "live" });
    await check(live, version, message);
    const continued = await readMessage(vendor, live, message);
    expect(continued?.parts.filter(({ toolCallId }) => toolCallId !== undefined)).toMatchObject([
      { state: "output-available", output: "Paid." },
      { toolCallId: id, state: "output-available", output: 1 },
    ]);
    expect(textOf(continued)).toBe("Done.");
    expect(ran).toEqual(["pay"]);
    // One page reads both executions in one stream. The other page reads only the second execution.
    const reloaded = await readMessage(vendor, toChunks([...first.events, ...second.events], { version }));
    expect(textOf(reloaded)).toBe("Done.");
    expect(reloaded?.parts.map(({ type, state }) => [type, state])).toEqual(
      continued?.parts.map(({ type, state }) => [type, state]),
    );
    expect(textOf(await readMessage(vendor, toChunks(second.events, { version })))).toBe("Done.");
  });
});
