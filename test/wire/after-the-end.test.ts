import { describe, expect, it } from "vitest";
import { type Provider, runToolLoop, withRetry } from "turnwright";
import { aiSdkModel } from "turnwright/ai-sdk";
import { createTestClock } from "turnwright/testing";
import { type PackageWire, packageWires } from "./ai-sdk-client.ts";
import { wires, type Wire } from "./all-wires.ts";
import { connectReply } from "./connect-reply.ts";
import { ask, createCall, type Iteration, runIteration } from "./provider-iteration.ts";
import { type RawReply, sse, startRawServer } from "./raw-sse-server.ts";

type Name = Wire["name"];

const scriptOf: { readonly [Api in PackageWire["api"]]: Name } = {
  chat: "openai",
  responses: "openai-responses",
  messages: "anthropic",
  generate: "google",
};

const framesOf = (reply: RawReply): readonly string[] => reply.frames ?? [];

/**
 * Matches events with which an answer begins. The reply `more text` must not contain such an event, because it would begin another
 * answer.
 */
const isStart = /"(?:response\.created|message_start)"/;

/** Data that a service sends after a complete answer, or in the middle of an answer. */
const sequels = {
  "nothing more": () => ({}),
  "a connection reset": () => ({ ending: "drop" }),
  "half an event": () => ({ frames: ["data: {"], ending: "drop" }),
  "invalid JSON": () => ({ frames: [sse("{oops"), "event: data\ndata: [DONE]\n\n"] }),
  "an error": (wire) => ({ frames: framesOf(wire.toReply({ end: "broken" })).slice(-1) }),
  "more text": (wire) => ({
    frames: framesOf(wire.toReply({ text: "lo", end: "lost" })).filter((frame) => !isStart.test(frame)),
  }),
} satisfies { readonly [Sequel: string]: (wire: Wire) => RawReply };
type Sequel = keyof typeof sequels;

const toLine = ({ text, finish, error }: Iteration): string =>
  `${text.replace("\n\n", "")}, ${error?.code ?? finish ?? "no finish"}`;

/** A Gemini stream may continue after a finish reason. Its answer is complete only when the stream ends. */
const afterAnswer: { readonly [Name in Sequel]: { readonly usual: string; readonly google: string } } = {
  "nothing more": { usual: "Hel, stop", google: "Hel, stop" },
  "a connection reset": { usual: "Hel, stop", google: "Hel, network" },
  "half an event": { usual: "Hel, stop", google: "Hel, network" },
  "invalid JSON": { usual: "Hel, stop", google: "Hel, server" },
  "an error": { usual: "Hel, stop", google: "Hel, overloaded" },
  "more text": { usual: "Hel, stop", google: "Hello, stop" },
};
const inTheMiddle: { readonly [Name in Sequel]: string } = {
  "nothing more": "Hel, no finish",
  "a connection reset": "Hel, network",
  "half an event": "Hel, network",
  "invalid JSON": "Hel, server",
  "an error": "Hel, overloaded",
  "more text": "Hello, no finish",
};

const isSequel = (name: string): name is Sequel => Object.hasOwn(sequels, name);
const rows = wires.flatMap((wire) =>
  Object.keys(sequels)
    .filter(isSequel)
    .map((sequel) => ({ wire, name: wire.name, sequel })),
);

async function readReply(wire: Wire, reply: RawReply, sequel: Sequel): Promise<string> {
  const { frames = [], ending = "end" }: RawReply = sequels[sequel](wire);
  const whole = { frames: [...framesOf(reply), ...frames], ending };
  const { provider } = await connectReply(whole, (url) => wire.connect(url).provider);
  return toLine(await runIteration(provider, ask("hi")));
}

const titleOf = (line: string): string => {
  const [text = "", end = ""] = line.split(", ");
  if (end === "no finish") return `with the text "${text}" and no finish reason`;
  return `with the text "${text}" and the ${end === "stop" ? "finish reason" : "error code"} "${end}"`;
};

describe.for(rows)("provider $name: a stream with $sequel after the answer", ({ wire, name, sequel }) => {
  const expected = afterAnswer[sequel][name === "google" ? name : "usual"];
  it(`produces a result ${titleOf(expected)} if the answer is finished`, async () => {
    expect(await readReply(wire, wire.toReply({ text: "Hel", end: "stop" }), sequel)).toBe(expected);
  });

  it(`produces a result ${titleOf(inTheMiddle[sequel])} if the answer is unfinished`, async () => {
    expect(await readReply(wire, wire.toReply({ text: "Hel", end: "lost" }), sequel)).toBe(inTheMiddle[sequel]);
  });
});

/** Reads a stream whose connection stays open. The test clock fires the timers of the provider. */
async function readOpen(provider: Provider): Promise<{ readonly types: readonly string[]; readonly afterMs: number }> {
  const clock = createTestClock();
  const types: string[] = [];
  const reading = (async () => {
    for await (const { type } of provider.stream(ask("hi"), { ...createCall(), clock })) types.push(type);
  })();
  await expect.poll(() => clock.pending).toBe(1);
  await clock.runAll();
  await reading;
  return { types, afterMs: clock.now() };
}

describe("a connection that the server leaves open after the answer", () => {
  it.for<[name: Name, afterMs: number, missing: "no data is" | "the token usage is"]>([
    ["openai", 1_000, "no data is"],
    ["openai", 5_000, "the token usage is"],
    ["openai-responses", 1_000, "no data is"],
    ["anthropic", 1_000, "no data is"],
    ["google", 5_000, "no data is"],
  ])('is closed by provider "%s" after %i ms if %s missing', async ([name, afterMs, missing]) => {
    const wire = wires.find((one) => one.name === name) ?? wires[0];
    if (wire === undefined) throw new Error("There are no wires.");
    const reply = wire.toReply({ text: "Hel", calls: [["a", "f", "{}"]], end: name === "google" ? "stop" : "tools" });
    // OpenAI's SDK ends its stream at [DONE] since version 7.
    const frames = framesOf(reply).map((frame) => frame.replace(sse("[DONE]"), ""));
    const [last = ""] = frames.slice(-1);
    const said = missing === "no data is" ? frames : [...frames.slice(0, -1), `${last.split("\n\n")[0]}\n\n`];
    const { server, provider } = await connectReply({ frames: said, ending: "stall" }, (url) => wire.connect(url).provider);
    const { types, afterMs: seen } = await readOpen(provider);
    expect([types.at(-1), seen]).toEqual(["finish", afterMs]);
    await server.left;
  });
});

describe.for(packageWires)("aiSdkModel ($name): the stream of a finished answer", ({ connect, api }) => {
  const wire = wires.find(({ name }) => name === scriptOf[api]);

  it.for<[line: string, how: "stays open" | "is reset"]>([
    ["Hel, stop, 5 tokens", "stays open"],
    [api === "generate" ? "Hel, network, undefined tokens" : "Hel, stop, 5 tokens", "is reset"],
  ])('ends with "%s" if the connection %s after the answer', async ([line, how]) => {
    const frames = framesOf(wire?.toReply({ text: "Hel", end: "stop" }) ?? {});
    const ending = how === "is reset" ? "drop" : "stall";
    const { provider } = await connectReply({ frames, ending }, (url) => aiSdkModel({ model: connect(url).model }));
    const clock = createTestClock();
    const reading = runIteration(provider, ask("hi"), { clock });
    if (ending === "stall") {
      await expect.poll(() => clock.pending).toBe(1);
      await clock.runAll();
      expect([1_000, 5_000]).toContain(clock.now());
    }
    const iteration = await reading;
    expect(`${toLine(iteration)}, ${iteration.usage?.totalTokens} tokens`).toBe(line);
  });
});

/** A last chunk with a call that lacks an `index`. AI SDK packages reject this chunk. */
const unreadEnd = {
  choices: [
    { index: 0, delta: { tool_calls: [{ id: "a", function: { name: "f", arguments: "{}" } }] }, finish_reason: "tool_calls" },
  ],
  usage: { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 },
};

it.for(packageWires.filter(({ name, api }) => api === "chat" && name.includes("openai")))(
  "aiSdkModel ($name): reports an error if the package rejects the last chunk",
  async ({ connect }) => {
    const reply = { frames: [sse(unreadEnd), sse("[DONE]")] };
    const { provider } = await connectReply(reply, (url) => aiSdkModel({ model: connect(url).model }));
    expect(toLine(await runIteration(provider, ask("hi")))).toBe(", server");
  },
);

it('withRetry: does not retry a complete Anthropic message if the gateway adds "[DONE]"', async () => {
  const [wire] = wires.filter(({ name }) => name === "anthropic");
  if (wire === undefined) throw new Error("There is no such wire.");
  const reply = wire.toReply({ text: "Hello", end: "stop" });
  const server = await startRawServer([{ frames: [...framesOf(reply), "event: data\ndata: [DONE]\n\n"] }, reply]);
  try {
    const provider = withRetry(wire.connect(server.url).provider);
    const { text, status } = await runToolLoop({ provider, messages: [{ role: "user", content: "Hi." }] });
    expect([text, status, server.bodies.length]).toEqual(["Hello", "completed", 1]);
  } finally {
    await server.close();
  }
});
