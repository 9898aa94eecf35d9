// Packages for tracing or metering wrap the clients of SDKs. The promises of a wrapped client may have a faulty `withResponse`.

import { beforeEach, describe, expect, it } from "vitest";
import type { Provider } from "turnwright";
import { anthropicMessages } from "turnwright/anthropic";
import { openaiChat, openaiResponses } from "turnwright/openai";
import { ask, runIteration } from "./provider-iteration.ts";

type Create = () => Promise<never>;

const wires: readonly (readonly [name: string, connect: (create: Create) => Provider])[] = [
  ["openaiChat", (create) => openaiChat({ client: { chat: { completions: { create } } }, model: "m" })],
  ["openaiResponses", (create) => openaiResponses({ client: { responses: { create } }, model: "m" })],
  ["anthropicMessages", (create) => anthropicMessages({ client: { messages: { create } }, model: "m", maxTokens: 5 })],
];

const rejections: unknown[] = [];
process.on("unhandledRejection", (error) => void rejections.push(error));
beforeEach(() => void rejections.splice(0));

const settled = (): Promise<void> => new Promise((resolve) => void setImmediate(() => setImmediate(resolve)));

describe.for(wires)("%s with a wrapped client", ([, connect]) => {
  it.for<[what: string, withResponse: () => unknown]>([
    ["rejects", () => Promise.reject(new Error("No response."))],
    [
      "throws",
      () => {
        throw new Error("No response.");
      },
    ],
    ["returns no response", () => Promise.resolve(undefined)],
    ["ignores the promise", async () => ({ data: {}, response: undefined })],
  ])("reports a rejected request without an unhandled rejection if withResponse %s", async ([, withResponse]) => {
    const create: Create = () => Object.assign(Promise.reject<never>(new Error("No connection.")), { withResponse });
    const { error } = await runIteration(connect(create), ask("Go."));
    await settled();
    expect(error).toBeDefined();
    expect(rejections).toEqual([]);
  });
});
