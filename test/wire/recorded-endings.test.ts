import { existsSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import type { Provider } from "turnwright";
import { anthropicMessages } from "turnwright/anthropic";
import { googleGenerateContent } from "turnwright/google";
import { connectAnthropic } from "./anthropic-client.ts";
import { connectGoogle } from "./google-client.ts";
import type { Iteration } from "./provider-iteration.ts";
import { readBody } from "./recorded-streams.ts";

const root = new URL("../../../shared/fixtures/recorded-failing/", import.meta.url);
const hasStreams = existsSync(fileURLToPath(root));

const connectors: { readonly [wire: string]: (url: string) => Provider } = {
  anthropic: (url) => anthropicMessages({ client: connectAnthropic(url).client, model: "m" }),
  google: (url) => googleGenerateContent({ client: connectGoogle(url).client, model: "m" }),
};

function readEvents(name: string): readonly string[] {
  const body = readFileSync(fileURLToPath(new URL(`${name}.sse`, root)), "utf8").replaceAll("\r\n", "\n");
  return body
    .split("\n\n")
    .filter((event) => event.trim() !== "")
    .map((event) => `${event}\n\n`);
}

async function read(name: string, events: readonly string[]): Promise<Iteration> {
  const connect = connectors[name.split("/")[0] ?? ""];
  if (connect === undefined) throw new Error(`There is no wire for ${name}.`);
  return (await readBody(events.join(""), connect)).iteration;
}

if (hasStreams) {
  describe("recorded streams from Anthropic and Gemini", () => {
    it.for<[name: string, finish: string, text: string]>([
      ["google/two-terminal-1", "stop", "The second number is 63."],
      ["google/two-terminal-2", "stop", "42 et 142."],
      ["google/two-terminal-3", "stop", "(the sum of its digits) is 63."],
      ["google/code-execution-rounds", "stop", "The second number is 142."],
    ])("yield the finish reason only after the last event: %s", { timeout: 30_000 }, async ([name, finish, text]) => {
      const events = readEvents(name);
      const whole = await read(name, events);
      expect([whole.finish, whole.error, whole.text.endsWith(text)]).toEqual([finish, undefined, true]);
      for (let count = 1; count < events.length; count += 1) {
        const { finish: early } = await read(name, events.slice(0, count));
        expect([count, early]).toEqual([count, undefined]);
      }
    });

    it.for<[name: string, inputTokens: number, outputTokens: number]>([
      ["anthropic/compaction-usage", 60_997, 3_341],
      ["anthropic/compaction-usage-cache", 55_377, 91],
    ])("include the tokens of the compaction in the usage: %s", async ([name, inputTokens, outputTokens]) => {
      const { usage, finish } = await read(name, readEvents(name));
      expect([usage, finish]).toMatchObject([{ inputTokens, outputTokens }, "stop"]);
    });

    it('yield the finish reason despite a "[DONE]" after the last event: anthropic/gateway-done-after-message-stop', async () => {
      const name = "anthropic/gateway-done-after-message-stop";
      const { finish, error } = await read(name, readEvents(name));
      expect([finish, error]).toEqual(["length", undefined]);
    });

    it("end with a retryable error and yield no call: anthropic/spliced-message-start", async () => {
      const name = "anthropic/spliced-message-start";
      const { reasoning, calls, finish, error } = await read(name, readEvents(name));
      expect([reasoning, calls, finish]).toEqual(["I will call the tool.", [], undefined]);
      expect(error).toMatchObject({ code: "stream-ended-early", retryable: true });
    });
  });
} else {
  it("recorded streams from Anthropic and Gemini are absent from this checkout", () => {
    expect(hasStreams).toBe(false);
  });
}
