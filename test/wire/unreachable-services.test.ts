import { describe, expect, it } from "vitest";
import { aiSdkModel } from "turnwright/ai-sdk";
import { packageWires } from "./ai-sdk-client.ts";
import { chat } from "./chat-script.ts";
import { generate } from "./generate-script.ts";
import { messages } from "./messages-script.ts";
import { ask, runIteration } from "./provider-iteration.ts";
import { startRawServer } from "./raw-sse-server.ts";
import { responses } from "./responses-script.ts";

const vendors = [
  ...[chat, responses, messages, generate].map(({ name, connect }) => ({ name, make: (url: string) => connect(url).provider })),
  ...packageWires.map(({ name, connect }) => ({ name, make: (url: string) => aiSdkModel({ model: connect(url).model }) })),
];

describe.for(vendors)("provider $name: the error for an unreachable service", ({ make }) => {
  it("says which address refused the connection", async () => {
    const { url, close } = await startRawServer([]);
    await close();
    const { error } = await runIteration(make(url), ask("Go."));
    expect(error).toMatchObject({ code: "network", retryable: true });
    expect(error?.message).toMatch(/connect ECONNREFUSED 127\.0\.0\.1:\d+$/);
  });
});
