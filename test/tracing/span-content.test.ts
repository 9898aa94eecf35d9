import { SpanStatusCode } from "@opentelemetry/api";
import { describe, expect, it } from "vitest";
import { contextRestart, contextRestarts, withFallback } from "turnwright";
import type { TracingOptions } from "../../src/observe/tracing/tracing-options.ts";
import { chunk, createMockProvider, fail, reasoning, text, toolCall } from "turnwright/testing";
import { tool } from "../loop/play.ts";
import { question, settle, trace } from "./trace.ts";
import { attributesOf, traceAll } from "./trace-all.ts";

describe("tracing: the content of messages and results", () => {
  it("is not in spans or metrics by default, even after failures", async () => {
    const broken = tool("look", () => {
      throw new Error("private failure");
    });
    const failing = createMockProvider([
      [text("private half"), toolCall("look", { at: "private argument" })],
      fail({ status: 400, message: "private complaint" }),
    ]);
    for (const more of [{}, { tools: [broken] }, { provider: failing, tools: [broken] }]) {
      const scene = traceAll({}, more);
      await settle(scene);
      const told = scene.stage.spans().map(({ name, attributes, events, status }) => ({ name, attributes, events, status }));
      expect(JSON.stringify([told, await scene.stage.metrics()])).not.toMatch(/private|cHJpdmF0ZQ|hidden/);
    }
  });

  it.for([
    ["omitted", false],
    ["recorded", true],
  ] as const)("is %s for a context restart with `captureContent: %s`", async ([, captureContent]) => {
    const restarting = tool("look", () =>
      contextRestart({ type: "context_restart_private", disable_tools: Array.from({ length: 99 }, () => "private") }),
    );
    const provider = createMockProvider([toolCall("look", {}), text("ok")]);
    const scene = traceAll({ captureContent }, { provider, tools: [restarting], middleware: [contextRestarts()] });
    await settle(scene);
    const noted = scene.stage
      .spans()
      .flatMap(({ events }) => events)
      .filter(({ name }) => name === "turnwright.restart");
    expect(noted).toHaveLength(1);
    const { "turnwright.restart.suffix": suffix, "turnwright.restart.disabled_tools": disabled } = noted[0]?.attributes ?? {};
    expect([suffix, disabled]).toEqual(
      captureContent ? ["private", Array.from({ length: 50 }, () => "private")] : [undefined, undefined],
    );
  });

  it("includes the changes that a service makes to a request, without credentials", async () => {
    const change = { by: "service", field: "messages.1.content.0", action: "removed", reason: "sk-abc123def456ghi789" } as const;
    const provider = createMockProvider([[chunk({ type: "request-adjusted", changes: [change] }), text("ok")]]);
    const scene = traceAll({}, { provider });
    await settle(scene);
    const noted = scene.stage
      .spans()
      .flatMap(({ events }) => events.filter(({ name }) => name === "turnwright.request_adjusted"));
    expect(noted.map(({ attributes }) => attributes?.["turnwright.request.changes"])).toEqual([
      ["messages.1.content.0 removed by service: [redacted]"],
    ]);
  });

  it("follows the semantic conventions, without credentials and file bytes", async () => {
    const scene = traceAll({ captureContent: true });
    await settle(scene);
    const [first, second] = attributesOf(scene, "chat mock-model") as readonly Record<string, string>[];
    const [call] = attributesOf(scene, "execute_tool look") as readonly Record<string, string>[];
    const asked = {
      role: "user",
      parts: [
        { type: "text", content: "private question" },
        { type: "image", mime_type: "image/png", modality: "image" },
        { type: "uri", mime_type: "application/pdf", modality: "document", uri: "https://[redacted]@example.com/a.pdf" },
        { type: "file", mime_type: "audio/mpeg", modality: "audio" },
      ],
    };
    const called = { type: "tool_call", name: "look", arguments: { at: "private argument" } };
    const result = { seen: "private result", token: "[redacted]" };
    const read = (text: string | undefined): unknown => JSON.parse(text ?? "null");
    expect(read(first?.["gen_ai.system_instructions"])).toEqual([{ type: "text", content: "private system" }]);
    expect(read(first?.["gen_ai.input.messages"])).toEqual([asked]);
    expect(read(first?.["gen_ai.output.messages"])).toEqual([
      { role: "assistant", parts: [{ type: "reasoning", content: "private thought" }, called] },
    ]);
    expect(read(second?.["gen_ai.input.messages"])).toEqual([
      asked,
      {
        role: "assistant",
        parts: [
          { type: "reasoning", content: "private thought" },
          { ...called, id: "call_i0_0" },
        ],
      },
      { role: "tool", parts: [{ type: "tool_call_response", id: "call_i0_0", response: result }] },
    ]);
    expect(read(call?.["gen_ai.tool.call.arguments"])).toEqual({ at: "private argument" });
    expect(read(call?.["gen_ai.tool.call.result"])).toEqual(result);
  });

  it("is replaced by the result of redact, and omitted if redact throws", async () => {
    const scene = traceAll({
      captureContent: true,
      redact: (_, kind) => {
        if (kind === "system") return "mine";
        if (kind === "tool-result") return undefined;
        throw new Error("redact is broken");
      },
    });
    await settle(scene);
    const content = scene.stage.spans().flatMap(({ attributes }) => Object.entries(attributes));
    expect(content.filter(([key]) => /messages|instructions|arguments|result/.test(key))).toEqual([
      ["gen_ai.system_instructions", '"mine"'],
      ["gen_ai.system_instructions", '"mine"'],
    ]);
  });

  it("is passed to redact as a copy that redact may change", async () => {
    let given: unknown;
    const look = tool("look", (args) => {
      given = args;
      return { deep: { secret: "y" } };
    });
    const emptied = (content: unknown): void => {
      if (typeof content !== "object" || content === null) return;
      for (const [key, value] of Object.entries(content)) {
        emptied(value);
        Reflect.deleteProperty(content, key);
      }
    };
    const scene = trace(
      [toolCall("look", { deep: { secret: "x" } }), text("So.")],
      { tools: [look] },
      { captureContent: true, redact: (content) => (emptied(content), content) },
    );
    const { messages } = await settle(scene);
    expect(given).toEqual({ deep: { secret: "x" } });
    expect(messages).toMatchObject([
      question[0],
      { content: [{ args: { deep: { secret: "x" } } }] },
      { results: [{ result: { deep: { secret: "y" } } }] },
      { content: [{ text: "So." }] },
    ]);
    const [call] = attributesOf(scene, "execute_tool look");
    expect([call?.["gen_ai.tool.call.arguments"], call?.["gen_ai.tool.call.result"]]).toEqual(["{}", "{}"]);
  });

  it('is passed to redact with the kind "tool-result" or "error" if the content comes from an error', async () => {
    const script = [toolCall("look"), fail({ status: 400, message: "Ada is unknown" })];
    const fails = (): never => {
      throw new Error("Ada has no orders");
    };
    const statuses = async (redact: TracingOptions["redact"]): Promise<readonly (string | undefined)[]> => {
      const scene = trace(script, { tools: [tool("look", fails)] }, { captureContent: true, redact });
      await settle(scene);
      return scene.stage.spans().flatMap(({ status }) => (status.code === SpanStatusCode.ERROR ? [status.message] : []));
    };
    expect(await statuses((content, kind) => (kind === "tool-result" ? undefined : content))).toEqual([
      undefined,
      "Ada is unknown",
      "Ada is unknown",
    ]);
    expect(await statuses((content, kind) => (kind === "error" ? "sk-abc12345678 is unknown" : content))).toEqual([
      "Ada has no orders",
      "[redacted] is unknown",
      "[redacted] is unknown",
    ]);
  });

  it("does not include a discarded attempt's output", async () => {
    const provider = withFallback([
      createMockProvider([[reasoning("Hm"), fail({ status: 503, message: "busy" })]]),
      createMockProvider([text("Now.")]),
    ]);
    const scene = trace([], { provider }, { captureContent: true });
    await settle(scene);
    expect(attributesOf(scene, "chat mock-model")).toMatchObject([
      { "gen_ai.output.messages": '[{"role":"assistant","parts":[{"type":"text","content":"Now."}]}]' },
    ]);
  });

  it("includes error messages without credentials", async () => {
    const fails = (): never => {
      throw new Error("bad: sk-abc12345678");
    };
    const script = [toolCall("look"), fail({ status: 400, message: "no: sk-abc12345678" })];
    const scene = trace(script, { tools: [tool("look", fails)] }, { captureContent: true });
    await settle(scene);
    const messages = scene.stage.spans().map(({ name, status }) => `${name}: ${status.message ?? ""}`);
    expect(messages).toEqual([
      "execute_tool look: bad: [redacted]",
      "chat mock-model: ",
      "chat mock-model: no: [redacted]",
      "invoke_agent bot: no: [redacted]",
    ]);
  });
});
