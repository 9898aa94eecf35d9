import { createLoopEvents, defineTool, runToolLoop } from "turnwright";
import { googleGenerateContent } from "turnwright/google";
import { expect, it } from "vitest";
import { z } from "zod";
import { GoogleGenAI } from "@google/genai";

const refusal =
  "CachedContent can not be used with GenerateContent request setting system_instruction, tools or tool_config. " +
  "Proposed fix: move those values to CachedContent from GenerateContent request.";

const chunk = (part: object): Response => {
  const candidates = [{ content: { role: "model", parts: [part] }, finishReason: "STOP", index: 0 }];
  const headers = { "content-type": "text/event-stream" };
  return new Response(`data: ${JSON.stringify({ candidates })}\n\n`, { headers });
};

const look = defineTool({
  name: "look",
  description: "Looks",
  inputSchema: { type: "object", properties: {} },
  execute: () => "seen",
});

it("googleGenerateContent runs the tools that cached content declares", async () => {
  const bodies: { readonly cachedContent?: string; readonly contents: readonly unknown[] }[] = [];
  const fetch: typeof globalThis.fetch = async (_input, init) => {
    const body = JSON.parse(z.string().parse(init?.body));
    bodies.push(body);
    const isRefused = ["systemInstruction", "tools", "toolConfig"].some((field) => field in body);
    if (isRefused) return Response.json({ error: { code: 400, message: refusal, status: "INVALID_ARGUMENT" } }, { status: 400 });
    return chunk(body.contents.length > 1 ? { text: "Seen." } : { functionCall: { name: "look", args: {} } });
  };
  const client = new GoogleGenAI({ apiKey: "test", httpOptions: { baseUrl: "https://example.com", fetch } });
  const events = createLoopEvents();
  const changes: string[] = [];
  events.on("request-adjusted", (found) => changes.push(...found.changes.map(({ field, action }) => `${field} ${action}`)));
  const result = await runToolLoop({
    provider: googleGenerateContent({ client, model: "gemini-3.6-flash" }),
    system: "Be brief.",
    tools: [look],
    events,
    messages: [{ role: "user", content: "Look." }],
    modelSettings: { extra: { cachedContent: "cachedContents/1" } },
  });
  expect(result).toMatchObject({ status: "completed", text: "Seen.", calls: [{ name: "look", outcome: "completed" }] });
  expect(bodies.map(({ cachedContent }) => cachedContent)).toEqual(["cachedContents/1", "cachedContents/1"]);
  expect(changes).toEqual(["system removed", "tools removed"]);
});
