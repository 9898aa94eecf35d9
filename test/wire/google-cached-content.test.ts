// Cached content holds the system text and the tools. The service refuses them in the requests that use it.

import { createGoogle } from "@ai-sdk/google";
import { GoogleGenAI } from "@google/genai";
import {
  createLoopEvents,
  defineTool,
  type LoopOptions,
  prepareIteration,
  type Provider,
  runToolLoop,
  structuredOutput,
} from "turnwright";
import { aiSdkModel } from "turnwright/ai-sdk";
import { googleGenerateContent } from "turnwright/google";
import { strictService, type StrictService, text, toolCall } from "turnwright/testing";
import { describe, expect, it } from "vitest";
import { z } from "zod";

type Fetch = StrictService["fetch"];

const cachedContent = "cachedContents/1";
const look = defineTool({
  name: "look",
  description: "Looks",
  inputSchema: { type: "object", properties: {} },
  execute: () => "seen",
});

const connectGoogle = (fetch: Fetch): GoogleGenAI =>
  new GoogleGenAI({ apiKey: "test", httpOptions: { baseUrl: "https://example.com", fetch } });

interface Row {
  readonly connect: (fetch: Fetch) => Provider;
  readonly run?: Partial<LoopOptions>;
  /** The reported name of the tools that the service runs. */
  readonly serverTools: string;
}

const model = "gemini-3.6-flash";
const providerOptions = { google: { cachedContent } };

const rows: { readonly [title: string]: Row } = {
  googleGenerateContent: {
    connect: (fetch) => googleGenerateContent({ client: connectGoogle(fetch), model, serverTools: [{ googleSearch: {} }] }),
    run: { modelSettings: { extra: { cachedContent } } },
    serverTools: "serverTools",
  },
  "aiSdkModel with providerOptions": {
    connect: (fetch) => {
      const google = createGoogle({ apiKey: "test", fetch });
      const providerTools = { google_search: google.tools.googleSearch({}) };
      return aiSdkModel({ model: google(model), providerOptions, providerTools, structuredOutput: true });
    },
    serverTools: "providerTools",
  },
  "googleGenerateContent without structuredOutput": {
    connect: (fetch) =>
      googleGenerateContent({
        client: connectGoogle(fetch),
        model,
        serverTools: [{ googleSearch: {} }],
        structuredOutput: false,
      }),
    run: { modelSettings: { extra: { cachedContent } } },
    serverTools: "serverTools",
  },
  "aiSdkModel without structuredOutput": {
    connect: (fetch) => {
      const google = createGoogle({ apiKey: "test", fetch });
      const providerTools = { google_search: google.tools.googleSearch({}) };
      return aiSdkModel({ model: google(model), providerOptions, providerTools });
    },
    serverTools: "providerTools",
  },
  "aiSdkModel with providerOptions in modelSettings": {
    connect: (fetch) => {
      const google = createGoogle({ apiKey: "test", fetch });
      const providerTools = { google_search: google.tools.googleSearch({}) };
      return aiSdkModel({ model: google(model), providerTools, structuredOutput: true });
    },
    run: { modelSettings: { extra: { providerOptions } } },
    serverTools: "providerTools",
  },
};

async function play({ connect, run }: Row, answers: Parameters<typeof strictService>[1], more: Partial<LoopOptions> = {}) {
  const service = strictService("gemini", answers);
  const events = createLoopEvents();
  const changes: string[] = [];
  events.on("request-adjusted", (found) => changes.push(...found.changes.map(({ field, action }) => `${field} ${action}`)));
  const result = await runToolLoop({
    provider: connect(service.fetch),
    system: "Be brief.",
    tools: [look],
    events,
    messages: [{ role: "user", content: "Look." }],
    ...run,
    ...more,
  });
  return { result, changes, bodies: service.requests.map(({ body }) => body), refusals: service.refusals };
}

describe.each(Object.entries(rows))("%s with cached content", (_title, row) => {
  it("runs the tools that the cached content declares", async () => {
    const { result, changes, bodies, refusals } = await play(row, { answers: [toolCall("look", {}), text("Seen.")] });
    expect(refusals).toEqual([]);
    expect(result).toMatchObject({ status: "completed", text: "Seen.", calls: [{ name: "look", outcome: "completed" }] });
    expect(bodies.map((body) => body.cachedContent)).toEqual([cachedContent, cachedContent]);
    expect(changes).toEqual(["system removed", "tools removed", `${row.serverTools} removed`]);
  });

  it("asks for a call that the request cannot force", async () => {
    const middleware = [prepareIteration(() => ({ toolChoice: "required" as const }))];
    const { result, changes, bodies, refusals } = await play(row, { answers: [text("Done.")] }, { middleware });
    expect([result.text, refusals]).toEqual(["Done.", []]);
    expect(changes).toContain("toolChoice replaced");
    expect(JSON.stringify(bodies)).toContain("Call at least one of the tools now");
  });

  it("uses a message to describe a schema that the service cannot enforce", async () => {
    const schema = z.object({ size: z.record(z.string(), z.number()) });
    const { result, bodies, refusals } = await play(
      row,
      { answers: [text('{"size":{"a":1}}')] },
      { middleware: [structuredOutput(schema)] },
    );
    expect([result.status, refusals]).toEqual(["completed", []]);
    expect(JSON.stringify(bodies[0]?.contents)).toContain("JSON Schema");
  });
});
