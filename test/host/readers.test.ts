import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { defineAgentTool, type LoopEvent, type LoopOptions, streamToolLoop, type Tool } from "turnwright";
import { type HostedEvent } from "turnwright/host";
import type { HostedStream } from "../../src/host/run-host.ts";
import {
  createMockProvider,
  createTestClock,
  type MockMessage,
  type MockPart,
  reasoning,
  type TestClock,
  text,
  toolCall,
  wait,
} from "turnwright/testing";
import { createStage, eventsOf, playing, readAll, readStart, textOf, tool } from "./stage.ts";

/** Joins the fragments of each text, and removes fields that differ between two runs of the same script. */
function normalize(events: readonly LoopEvent[]): readonly unknown[] {
  const merged: { -readonly [Name in keyof LoopEvent]?: unknown }[] = [];
  for (const event of events) {
    const { runId: _, ...rest } = { ...event, durationMs: 0 };
    const last = merged.at(-1);
    const isSame = last !== undefined && "text" in rest && "text" in last && sourceOf(last) === sourceOf(rest);
    if (isSame) merged[merged.length - 1] = { ...rest, text: String(last.text) + rest.text } as never;
    else merged.push(rest);
  }
  return merged;
}

const sourceOf = ({ text: _, ...rest }: { readonly text?: unknown }): string => JSON.stringify(rest);

const word = fc.string({ minLength: 1, maxLength: 12, unit: "binary" });
const chunked = { chunks: fc.integer({ min: 1, max: 4 }) };
const part: fc.Arbitrary<MockPart> = fc.oneof(
  fc.record({ said: word, ...chunked }).map(({ said, chunks }) => text(said, { chunks: Math.min(chunks, said.length) })),
  fc.record({ said: word, ...chunked }).map(({ said, chunks }) => reasoning(said, { chunks: Math.min(chunks, said.length) })),
  fc.record({ said: word }).map(({ said }) => toolCall("echo", { said }, { fragments: 3 })),
  fc.constant(wait(1)),
);
const script = fc.array(fc.array(part, { minLength: 1, maxLength: 8 }), { minLength: 1, maxLength: 3 });

/** The model plays `messages` and then answers every further request, so that every run completes. */
function optionsOf(messages: readonly MockMessage[], clock: TestClock): Omit<LoopOptions, "messages"> {
  const provider = createMockProvider((_, index) => messages[index] ?? text("The end.", { chunks: 3 }));
  const echo = tool("echo", (args, { progress, emit }) => {
    progress(args);
    emit({ type: "text", text: "Echo." });
    emit({ type: "data", name: "said", data: args, id: "last" });
    return args;
  });
  const inner = createMockProvider(() => [text("Inside.", { chunks: 2 }), wait(1), text(" Still.", { chunks: 2 })]);
  const agent: Tool = defineAgentTool({
    name: "agent",
    description: "agent",
    inputSchema: { type: "object" },
    prepare: () => ({ provider: inner, messages: [{ role: "user", content: "Go." }] }),
    toResult: (result) => result.text,
  });
  return { provider, tools: [echo, agent], clock };
}

type Act =
  | { readonly kind: "advance" }
  /**
   * Adds a reader that continues after the last event of the reader with the index `after`. If there is no such reader, the new
   * reader starts at the first event.
   */
  | { readonly kind: "join"; readonly after: number }
  | { readonly kind: "read"; readonly reader: number; readonly count: number }
  | { readonly kind: "leave"; readonly reader: number };

const act: fc.Arbitrary<Act> = fc.oneof(
  fc.record({ kind: fc.constant("advance" as const) }),
  fc.record({ kind: fc.constant("join" as const), after: fc.nat(9) }),
  fc.record({ kind: fc.constant("read" as const), reader: fc.nat(5), count: fc.integer({ min: 1, max: 9 }) }),
  fc.record({ kind: fc.constant("leave" as const), reader: fc.nat(5) }),
);

interface Reader {
  readonly iterator: AsyncIterator<HostedEvent, undefined>;
  readonly seen: HostedEvent[];
  done: boolean;
}

async function perform(one: Act, readers: Reader[], join: (from?: string) => HostedStream | undefined): Promise<void> {
  if (one.kind === "advance") return;
  if (one.kind === "join") {
    const seen = readers[one.after]?.seen ?? [];
    const stream = join(seen.at(-1)?.id);
    expect(stream?.restarted).toBe(false);
    if (stream !== undefined) readers.push({ iterator: iteratorOf(stream), seen: [...seen], done: false });
    return;
  }
  const reader = readers[one.reader];
  if (reader === undefined) return;
  if (one.kind === "leave") await reader.iterator.return?.();
  else for (let count = 0; count < one.count; count += 1) void readOne(reader);
}

const iteratorOf = (stream: HostedStream) => stream[Symbol.asyncIterator]() as AsyncIterator<HostedEvent, undefined>;

async function readOne(reader: Reader): Promise<boolean> {
  const { done, value } = await reader.iterator.next();
  if (done === true) reader.done = true;
  else reader.seen.push(value);
  return done !== true;
}

describe("a hosted run's readers", () => {
  it("receive each event exactly once, whenever they join", async () => {
    const property = fc.asyncProperty(script, fc.array(act, { maxLength: 40 }), async (messages, acts) => {
      const direct: LoopEvent[] = [];
      const directClock = createTestClock();
      const stream = streamToolLoop({ ...optionsOf(messages, directClock), messages: [{ role: "user", content: "Go." }] });
      const reading = (async () => {
        for await (const event of stream) direct.push(event);
      })();
      await directClock.runAll();
      await reading;

      const { host, clock, id } = createStage({ keepMs: Number.POSITIVE_INFINITY });
      await host.start(id, { ...optionsOf(messages, clock), message: "Go." });
      const readers: Reader[] = [];
      for (const one of acts) {
        await perform(one, readers, (from) => host.join(id, { from }));
        if (one.kind === "advance") await clock.advance(1);
        else if (readers.length % 2 === 0) await clock.flush();
      }
      await clock.runAll();
      readers.push({ iterator: iteratorOf(host.join(id) as HostedStream), seen: [], done: false });
      const expected = normalize(direct);
      const left = acts.flatMap((one) => (one.kind === "leave" ? [one.reader] : []));
      for (const [index, reader] of readers.entries()) {
        while (await readOne(reader));
        if (left.includes(index)) continue;
        expect(normalize(eventsOf(reader.seen))).toEqual(expected);
        expect(new Set(reader.seen.map((item) => item.id)).size).toBe(reader.seen.length);
      }
      await host.close();
      expect(clock.pending).toBe(0);
    });
    await fc.assert(property, { numRuns: 60 });
  });

  it("receive all buffered text fragments as one fragment", async () => {
    const { host, clock, id } = createStage();
    const script = [[text("a"), wait(1), text("b"), wait(1), text("c"), wait(1), text("d")]];
    await host.start(id, { ...playing(script, clock), message: "Go." });
    const slow = host.join(id);
    const fast = readAll(host.join(id));
    await clock.advance(2);
    const late = readAll(host.join(id));
    await clock.advance(10);
    const deltas = (items: readonly HostedEvent[]) => eventsOf(items).flatMap((event) => ("text" in event ? [event.text] : []));
    expect(deltas(await fast)).toEqual(["a", "b", "c", "d"]);
    expect(deltas(await late)).toEqual(["abc", "d"]);
    expect(deltas(await readAll(slow))).toEqual(["abcd"]);
  });

  it("receive alternating text fragments of two nested runs as separate text parts", async () => {
    const { host, clock, id } = createStage();
    const messages = [[toolCall("agent", { n: 1 }), toolCall("agent", { n: 2 })]];
    await host.start(id, { ...optionsOf(messages, clock), message: "Go." });
    await clock.advance(10);
    const texts = new Map<string, string>();
    for (const event of eventsOf(await readAll(host.join(id)))) {
      if (event.type !== "text-delta") continue;
      const path = event.path?.join("/") ?? "";
      texts.set(path, (texts.get(path) ?? "") + event.text);
    }
    expect(Object.fromEntries(texts)).toEqual({ "": "The end.", call_i0_0: "Inside. Still.", call_i0_1: "Inside. Still." });
  });

  it.for(["", "x", "-1", "0-0", "aaaaaaaaaaaaaaaa-0", "aaaaaaaaaaaaaaaa-99999999999999999999", "__proto__-1-1"])(
    "start at the first event if `from` is the unknown event id %j",
    async (from) => {
      const { host, clock, id } = createStage();
      await readStart(host.start(id, { ...playing([text("One.")], clock), message: "Go." }));
      const joined = host.join(id, { from });
      expect([joined?.restarted, joined?.isOver, textOf(await readAll(joined))]).toEqual([true, false, "One."]);
    },
  );

  it.for([{ from: 7 }, { from: null }, { signal: {} }, { after: "x" }, 7])(
    "cannot join with the invalid options %j",
    (options) => {
      const { host, id } = createStage();
      expect(() => host.join(id, options as never)).toThrow(/option/i);
    },
  );

  it("start at the first event if `from` is beyond the end of the log", async () => {
    const { host, clock, id } = createStage();
    await readStart(host.start(id, { ...playing([text("One.")], clock), message: "Go." }));
    const items = await readAll(host.join(id));
    const delta = items.find(({ event }) => event.type === "text-delta")?.id ?? "";
    const [epoch, entry] = delta.split("-");
    expect(host.join(id, { from: `${epoch}-99` })?.restarted).toBe(true);
    const within = host.join(id, { from: `${epoch}-${entry}-2` });
    expect([within?.restarted, textOf(await readAll(within))]).toEqual([false, "e."]);
    expect(textOf(await readAll(host.join(id, { from: `${epoch}-${entry}-99` })))).toBe("");
  });

  it("can continue in the middle of a text fragment that is still being streamed", async () => {
    const { host, clock, id } = createStage();
    await host.start(id, { ...playing([[text("One."), text("Two."), wait(1), text("Three.")]], clock), message: "Go." });
    const first = host.join(id)?.[Symbol.asyncIterator]();
    await clock.flush();
    const seen: (HostedEvent | undefined)[] = [];
    for (let count = 0; count < 3; count += 1) seen.push((await first?.next())?.value);
    const [epoch, entry] = seen[2]?.id.split("-") ?? [];
    const within = host.join(id, { from: `${epoch}-${entry}-5` });
    const reading = readAll(within);
    await clock.advance(1);
    expect(textOf(await reading)).toBe("wo.Three.");
  });

  it("receive an earlier run in full, and then the next run", async () => {
    const { host, clock, id } = createStage();
    await readStart(host.start(id, { ...playing([text("One.")], clock), message: "Go." }));
    const first = await readAll(host.join(id));
    await readStart(host.start(id, { ...playing([text("Two.")], clock), message: "Go on." }));
    const rest = host.join(id, { from: first[1]?.id });
    expect([rest?.runId, rest?.restarted, textOf(await readAll(rest))]).toEqual([`${id}/1`, false, "One."]);
    const next = host.join(id, { from: first.at(-1)?.id });
    expect([next?.runId, next?.restarted, textOf(await readAll(next))]).toEqual([`${id}/2`, true, "Two."]);
  });
});
