import { approve } from "turnwright";
import { describe, expect, it } from "vitest";
import { text, toolCall } from "turnwright/testing";
import type { UIMessageOptions } from "../../src/ui-message-stream/ui-message-options.ts";
import { tool } from "../loop/play.ts";
import { toChunks } from "./check-chunks.ts";
import { check, lines, play, versions } from "./mapping-stage.ts";
import { readMessage, vendors } from "./vendors.ts";

describe("createUIMessageMapper", () => {
  const outcomes = [
    ['the outcome "failed"', toolCall("broken"), "output-error", "The tool failed."],
    ['the outcome "unknown-tool"', toolCall("nope"), "output-error", "The tool does not exist."],
    ['the outcome "malformed"', toolCall("look", {}, { rawArgs: "{" }), "output-error", "The arguments are not valid JSON."],
    [
      'the outcome "malformed" after fragments',
      toolCall("look", {}, { rawArgs: "{", fragments: 1 }),
      "output-error",
      "The arguments are not valid JSON.",
    ],
  ] as const;

  it.each(outcomes)("shows %s as an error with a neutral message", async (...[, part, state, errorText]) => {
    const broken = tool("broken", () => {
      throw new Error("postgres://user:secret@db");
    });
    const { events } = await play({ script: [part, text("Done.")], tools: [broken, tool("look", () => 1)] });
    for (const vendor of vendors) {
      const chunks = toChunks(events, { version: vendor.version });
      await check(chunks, vendor.version);
      expect(JSON.stringify(chunks)).not.toContain("secret");
      const message = await readMessage(vendor, chunks);
      expect(message?.parts.filter(({ toolCallId }) => toolCallId !== undefined)).toMatchObject([{ state, errorText }]);
    }
  });

  it("takes the error text from options.onError", async () => {
    const broken = tool("broken", () => {
      throw new Error("No stock.");
    });
    const { events } = await play({ script: [toolCall("broken"), text("Done.")], tools: [broken] });
    const onError: UIMessageOptions["onError"] = (failure) =>
      failure.kind === "tool" ? `${failure.toolName}: ${failure.outcome}` : "";
    expect(toChunks(events, { onError }).find(({ type }) => type === "tool-output-error")).toMatchObject({
      errorText: "broken: failed",
    });
    const bad = (): never => {
      throw new Error("oops");
    };
    expect(toChunks(events, { onError: bad }).find(({ type }) => type === "tool-output-error")).toMatchObject({
      errorText: "The tool failed.",
    });
  });

  it("sends tool progress as preliminary output", async () => {
    const cyclic: { self?: object } = {};
    cyclic.self = cyclic;
    const slow = tool("slow", (_, { progress }) => {
      progress({ percent: 50 });
      progress(cyclic);
      return "done";
    });
    const { events } = await play({ script: [toolCall("slow"), text("Done.")], tools: [slow] });
    const chunks = toChunks(events).filter(({ type }) => type === "tool-output-available");
    expect(lines(chunks)).toMatchInlineSnapshot(`
      [
        "tool-output-available toolCallId="r:call_i0_0" output={"percent":50} providerExecuted=true preliminary=true",
        "tool-output-available toolCallId="r:call_i0_0" output=null providerExecuted=true preliminary=true",
        "tool-output-available toolCallId="r:call_i0_0" output="done" providerExecuted=true",
      ]
    `);
  });

  it.each(versions)("shows a denial by approve in AI SDK %i", async (version) => {
    const { events } = await play({
      script: [toolCall("look"), text("Done.")],
      tools: [tool("look", () => 1)],
      middleware: [approve(() => ({ kind: "deny", reason: "not today" }))],
    });
    const chunks = toChunks(events, { version });
    await check(chunks, version);
    const shown = chunks.filter(({ type }) => type.startsWith("tool-approval") || type.startsWith("tool-output"));
    expect(shown.map(({ type }) => type)).toEqual(
      version === 7
        ? ["tool-approval-request", "tool-approval-response", "tool-output-denied"]
        : [version === 6 ? "tool-output-denied" : "tool-output-error"],
    );
    if (version === 7) expect(shown[0]).toMatchObject({ isAutomatic: true });
  });
});
