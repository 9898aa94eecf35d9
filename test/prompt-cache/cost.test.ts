import { setTimeout } from "node:timers/promises";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { type Message, type Provider, runToolLoop } from "turnwright";
import { watchPromptCache } from "turnwright/middleware";
import { createMockProvider } from "turnwright/testing";
import { expect, it } from "vitest";
import { look, playWatched, rounds } from "./play-watched.ts";

/** Converts each message once, and reports bodies with the converted messages. */
function converting(iterations: number, convert: (message: Message) => object): Provider {
  const provider = createMockProvider(rounds(iterations), { record: false });
  const converted = new WeakMap<Message, object>();
  const toWire = (message: Message): object => {
    const wire = converted.get(message) ?? convert(message);
    converted.set(message, wire);
    return wire;
  };
  return {
    ...provider,
    stream: (request, call) => {
      call.sending?.({ tools: request.tools, messages: request.messages.map(toWire) }, provider);
      const { signal, clock, timeouts, iteration } = call;
      return provider.stream(request, { signal, clock, timeouts, iteration, heartbeat: () => call.heartbeat() });
    },
  };
}

it("watchPromptCache: serializes each message only once in 1,000 iterations", async () => {
  const counts: number[] = [];
  const counted = (message: Message): object => {
    const at = counts.push(0) - 1;
    const toJSON = (): object => {
      counts[at] = (counts[at] ?? 0) + 1;
      return message;
    };
    return Object.defineProperty({ role: message.role, at }, "toJSON", { value: toJSON });
  };
  const { result, recording } = await playWatched([], { provider: converting(1_000, counted) });
  expect([result.cache?.requests, result.cache?.share, recording.events.length]).toEqual([1_000, 1, 0]);
  expect([counts.length, Math.max(...counts)]).toEqual([1_999, 1]);
});

it("watchPromptCache: does not keep bodies after the run", async () => {
  setFlagsFromString("--expose-gc");
  const collectGarbage = runInNewContext("gc") as () => void;
  const wires: WeakRef<object>[] = [];
  const middleware = [watchPromptCache()];
  const play = async (): Promise<object> => {
    const convert = (message: Message): object => {
      const wire = { role: message.role, content: JSON.stringify(message) };
      wires.push(new WeakRef(wire));
      return wire;
    };
    const messages = [{ role: "user", content: "Look around." }] as const;
    const { cache, streamResults } = await runToolLoop({
      provider: converting(20, convert),
      tools: [look],
      messages,
      middleware,
    });
    return { cache, streamResults };
  };
  const kept = await play();
  for (let round = 0; round < 20 && wires.some((wire) => wire.deref() !== undefined); round += 1) {
    await setTimeout(0);
    collectGarbage();
  }
  expect(wires).toHaveLength(39);
  expect(wires.filter((wire) => wire.deref() !== undefined)).toEqual([]);
  expect([kept, middleware]).toHaveLength(2);
});
