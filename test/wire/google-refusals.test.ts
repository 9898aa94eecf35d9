import { googleGenerateContent } from "turnwright/google";
import { describe, expect, it, onTestFinished } from "vitest";
import { connectGoogle, type GoogleWireOptions } from "./google-client.ts";
import { stop, text } from "./google-frames.ts";
import { ask, type Iteration, runIteration } from "./provider-iteration.ts";
import { json, type RawReply, startRawServer } from "./raw-sse-server.ts";

async function connect(
  replies: readonly RawReply[],
  retryOptions?: GoogleWireOptions["retryOptions"],
): Promise<() => Promise<Iteration>> {
  const server = await startRawServer(replies);
  onTestFinished(() => server.close());
  const provider = googleGenerateContent({ client: connectGoogle(server.url, { retryOptions }).client, model: "m" });
  return () => runIteration(provider, ask("hi"));
}

describe("googleGenerateContent: a provider error", () => {
  it.for<[title: string, status: number, headers: { readonly [name: string]: string }, body: string, error: object]>([
    [
      "status 429 and retry-after",
      429,
      { "retry-after": "3600" },
      "{}",
      { code: "rate-limit", status: 429, retryAfterMs: 3_600_000 },
    ],
    [
      "status 503 and retry-after-ms",
      503,
      { "Retry-After-Ms": "900" },
      "Busy.",
      { code: "overloaded", retryAfterMs: 900, message: "Busy." },
    ],
    ["status 429 and x-should-retry: false", 429, { "x-should-retry": "false" }, "{}", { code: "rate-limit", retryable: false }],
    ["status 400 and x-should-retry: true", 400, { "x-should-retry": "true" }, "No.", { code: "bad-request", retryable: true }],
    ["status 304 and no body", 304, {}, "", { status: 304, retryable: false }],
    [
      "status 999 and a message about an invalid API key",
      999,
      {},
      '{"error":{"message":"Invalid API key","code":"invalid_api_key"}}',
      { code: "auth", retryable: false, message: "Invalid API key" },
    ],
    [
      "status 999, retry-after and a text body",
      999,
      { "retry-after": "7" },
      "Slow down.",
      { message: "Slow down.", retryAfterMs: 7_000 },
    ],
  ])("contains the details of a response with %s", async ([, status, headers, body, error]) => {
    for (const retryOptions of [undefined, { attempts: 1 }]) {
      const read = await connect([{ status, headers, frames: status === 304 ? [] : [body] }], retryOptions);
      expect((await read()).error).toMatchObject(error);
    }
  });

  it("contains the last response's details if the SDK repeats the request", async () => {
    const replies = [json(503, {}, { "retry-after": "3600" }), json(429, {}), { frames: [text("Hi."), stop()] }];
    const read = await connect(replies, { attempts: 2, initialDelay: 0.001, maxDelay: 0.001 });
    const { error } = await read();
    expect([error?.status, error?.retryAfterMs]).toEqual([429, undefined]);
    expect((await read()).text).toBe("Hi.");
  });
});
