import { describe, expect, it } from "vitest";
import { runToolLoop } from "turnwright";
import { aiSdkModel, type AiSdkModelOptions } from "turnwright/ai-sdk";
import { hear, partsOf, typesOf } from "./ai-sdk-bench.ts";
import { callParts, specs, type SpecStream, textParts } from "./ai-sdk-specs.ts";
import { ask, createCall } from "./provider-iteration.ts";

describe.each(specs)("aiSdkModel (spec $version): stream parts from the service", (spec) => {
  const done = spec.finish("stop");

  it("become metadata if they contain calls or results of provider tools", async () => {
    const parts = [
      ...callParts("s", ["search", '{"q":"x"}'], { providerExecuted: true, providerMetadata: { mock: { itemId: "st_1" } } }),
      { type: "tool-input-start", id: "u", toolName: "search", providerExecuted: true },
      { type: "tool-result", toolCallId: "s", toolName: "web_search", result: { hits: 0 }, preliminary: true },
      {
        type: "tool-result",
        toolCallId: "s",
        toolName: "web_search",
        result: { hits: 1 },
        providerMetadata: { mock: { itemId: "ws_1" } },
      },
      { type: "tool-result", toolCallId: "t", toolName: "web_search", result: "no", isError: true },
      { type: "tool-result", toolCallId: "v", toolName: "web_search", result: "yes" },
      { type: "source", sourceType: "url", id: "1", url: "https://a.test/", title: "A" },
      ...textParts(["Found."]),
      done,
    ];
    const heard = await hear(spec, { parts });
    expect(typesOf(heard).filter((type) => type !== "provider-metadata")).toEqual(["text-delta", "finish"]);
    const result = { type: "tool-result", toolName: "web_search" };
    expect(partsOf(heard)).toEqual([
      {
        part: {
          type: "tool-call",
          toolCallId: "s",
          toolName: "search",
          input: { q: "x" },
          providerExecuted: true,
          providerOptions: { mock: { itemId: "st_1" } },
        },
      },
      {
        part: {
          ...result,
          toolCallId: "s",
          output: { type: "json", value: { hits: 1 } },
          providerOptions: { mock: { itemId: "ws_1" } },
        },
      },
      { part: { ...result, toolCallId: "t", output: { type: "error-json", value: "no" } } },
      { part: { ...result, toolCallId: "v", output: { type: "text", value: "yes" } } },
      { part: { type: "text", text: "Found." } },
      { source: { type: "source", sourceType: "url", id: "1", url: "https://a.test/", title: "A" } },
    ]);
  });

  it("become base64 metadata if they contain a file as bytes or base64", async () => {
    const parts = [spec.file("image/png", new Uint8Array([1, 2, 3])), spec.file("text/plain", "aGk="), done];
    expect(partsOf(await hear(spec, { parts }))).toEqual([
      { part: { type: "file", mediaType: "image/png", data: "AQID" } },
      { part: { type: "file", mediaType: "text/plain", data: "aGk=" } },
    ]);
  });

  it("become metadata if they contain text outside a block, or empty text with a signature", async () => {
    const parts = [
      { type: "text-delta", id: "x", delta: "Lost?" },
      ...textParts([], { id: "y" }),
      ...textParts([], { id: "z", metadata: { mock: { thoughtSignature: "c2ln" } } }),
      ...textParts(["One."], { id: "z" }),
      { type: "text-delta", id: "z", delta: " Two.", providerMetadata: { mock: { thoughtSignature: "dHdv" } } },
      done,
    ];
    expect(partsOf(await hear(spec, { parts }))).toEqual([
      { part: { type: "text", text: "Lost?" } },
      { part: { type: "text", text: "", providerOptions: { mock: { thoughtSignature: "c2ln" } } } },
      { part: { type: "text", text: "One. Two.", providerOptions: { mock: { thoughtSignature: "dHdv" } } } },
    ]);
  });
});

describe.each(specs.filter(({ version }) => version !== "v2"))(
  "aiSdkModel (spec $version): an approval request from the service",
  (spec) => {
    const stream: SpecStream = {
      parts: [
        { type: "tool-call", toolCallId: "m", toolName: "mcp.pay", input: '{"eur":5}', providerExecuted: true, dynamic: true },
        { type: "tool-approval-request", approvalId: "ap_1", toolCallId: "m" },
        spec.finish("stop"),
      ],
    };
    const refusal = { approvalId: "ap_1", approved: false, reason: "The call was not approved." };

    it("is denied by default and pauses the iteration", async () => {
      const heard = await hear(spec, stream);
      expect(partsOf(heard).at(-1)).toEqual({ approval: refusal });
      expect(heard.chunks.at(-1)).toEqual({ type: "finish", reason: "paused", raw: "stop" });
    });

    it("is approved if approveProviderTool returns true for the call", async () => {
      const approveProviderTool: AiSdkModelOptions["approveProviderTool"] = ({ toolName, input }) =>
        toolName === "mcp.pay" && JSON.stringify(input) === '{"eur":5}';
      const heard = await hear(spec, stream, { approveProviderTool });
      expect(partsOf(heard).at(-1)).toEqual({ approval: { approvalId: "ap_1", approved: true } });
    });

    it("is denied if approveProviderTool throws", async () => {
      const approveProviderTool = (): boolean => {
        throw new Error("Who knows?");
      };
      expect(partsOf(await hear(spec, stream, { approveProviderTool })).at(-1)).toEqual({ approval: refusal });
    });

    it("is denied, and the model then answers in the same iteration", async () => {
      const { model, calls } = spec.create([stream, { parts: [...textParts(["Then not."]), spec.finish("stop")] }]);
      const result = await runToolLoop({ provider: aiSdkModel({ model }), messages: [{ role: "user", content: "Pay." }] });
      expect(result).toMatchObject({ status: "completed", text: "Then not.", iterations: 1, toolCallsExecuted: 0 });
      expect(calls[1]).toMatchObject({
        prompt: [
          { role: "user" },
          { role: "assistant", content: [{ type: "tool-call", toolCallId: "m", providerExecuted: true }] },
          { role: "tool", content: [{ type: "tool-approval-response", ...refusal }] },
        ],
      });
    });

    it("does not pause the iteration if the message also has calls to the run's tools", async () => {
      const parts = [...callParts("a", ["search", "{}"]), ...stream.parts];
      expect((await hear(spec, { parts })).chunks.at(-1)).toMatchObject({ reason: "tool-calls" });
    });
  },
);

describe("aiSdkModel (spec v4): additional stream parts", () => {
  const spec = specs[2];
  if (spec === undefined) throw new Error("There is no specification v4.");

  it("become metadata if they contain custom data, reasoning files or citations", async () => {
    const citations = [{ source: { type: "source", sourceType: "url", id: "1", url: "https://a.test/" }, citedText: "a" }];
    const parts = [
      { type: "custom", kind: "mock.compaction", providerMetadata: { mock: { encrypted: "x" } } },
      { ...spec.file("image/png", "aW1n"), type: "reasoning-file" },
      { type: "file", mediaType: "image/png", data: { type: "url", url: new URL("https://made.test/a.png") } },
      { type: "text-start", id: "t" },
      { type: "text-delta", id: "t", delta: "So." },
      { type: "text-end", id: "t", citations },
      spec.finish("stop"),
    ];
    expect(partsOf(await hear(spec, { parts }))).toEqual([
      { part: { type: "custom", kind: "mock.compaction", providerOptions: { mock: { encrypted: "x" } } } },
      { part: { type: "reasoning-file", mediaType: "image/png", data: "aW1n" } },
      { part: { type: "file", mediaType: "image/png", url: "https://made.test/a.png" } },
      { part: { type: "text", text: "So." } },
      { citations },
    ]);
  });

  it("yield only the complete call if the call's input is plain text", async () => {
    const parts = [
      { type: "tool-input-start", id: "a", toolName: "search", inputEncoding: "text" },
      { type: "tool-input-delta", id: "a", delta: "SELECT 1" },
      { type: "tool-call", toolCallId: "a", toolName: "search", input: '"SELECT 1"' },
      spec.finish("tool-calls"),
    ];
    const heard = await hear(spec, { parts });
    expect(heard.chunks[0]).toEqual({
      type: "call-ready",
      key: "call-0",
      id: "a",
      name: "search",
      args: "SELECT 1",
      argsText: '"SELECT 1"',
    });
  });

  it("trigger heartbeat() if they are pings or a finish part without token counts", async () => {
    const { model } = spec.create([{ parts: [{ type: "ping" }, { type: "ping" }, spec.finish("stop")] }]);
    let beats = 0;
    const call = { ...createCall(), heartbeat: () => (beats += 1) };
    for await (const chunk of aiSdkModel({ model }).stream(ask("Hi"), call)) expect(chunk.type).toBe("finish");
    // The three heartbeats are two pings, and a finish part without token counts.
    expect(beats).toBe(3);
  });
});
