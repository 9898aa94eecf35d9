import { createServer, type Server } from "node:http";
import { type AddressInfo, connect } from "node:net";
import { setImmediate } from "node:timers/promises";
import { afterEach, describe, expect, it } from "vitest";
import { isLoopError, type LoopEvent, streamToolLoop } from "turnwright";
import { createMockProvider, createTestClock, stall, text } from "turnwright/testing";
import {
  pipeUIMessageStream,
  toUIMessageStream,
  toUIMessageStreamResponse,
  type UIMessageChunk,
} from "turnwright/ui-message-stream";

const base = { runId: "r", iteration: 0 };
const runStart: LoopEvent = { type: "run-start", ...base, provider: "mock", model: "m" };
const stepStart: LoopEvent = { type: "iteration-start", ...base, continuation: 0 };
const delta = (text: string): LoopEvent => ({ type: "text-delta", ...base, text });

/** `read` returns how often the source was read, and `left` how often it was closed. */
function createSource(
  events: readonly LoopEvent[],
  end: "done" | "never" | Error = "done",
): { events: AsyncIterable<LoopEvent>; read: () => number; left: () => number } {
  let read = 0;
  let left = 0;
  const iterator: AsyncIterator<LoopEvent, undefined> = {
    next: async () => {
      const event = events[read];
      read += 1;
      if (event !== undefined) return { done: false, value: event };
      if (end === "never") return new Promise(() => {});
      if (end === "done") return { done: true, value: undefined };
      throw end;
    },
    return: async () => {
      left += 1;
      return { done: true, value: undefined };
    },
  };
  return { events: { [Symbol.asyncIterator]: () => iterator }, read: () => read, left: () => left };
}

async function readAll(stream: ReadableStream<UIMessageChunk>): Promise<string[]> {
  const types: string[] = [];
  const reader = stream.getReader();
  for (let read = await reader.read(); !read.done; read = await reader.read()) types.push(read.value.type);
  return types;
}

const whole = ["start", "start-step", "text-start", "text-delta", "text-end", "finish-step", "finish"];

describe("toUIMessageStream", () => {
  it("accepts events from streamToolLoop and items from a host", async () => {
    const run = streamToolLoop({ provider: createMockProvider([text("Hi.")]), messages: [{ role: "user", content: "Go." }] });
    expect(await readAll(toUIMessageStream(run))).toEqual([...whole.slice(0, 5), "data-cost", ...whole.slice(5)]);
    const hosted = (async function* () {
      let id = 0;
      for (const event of [runStart, stepStart, delta("Hi.")]) yield { id: String((id += 1)), event };
    })();
    expect(await readAll(toUIMessageStream(hosted))).toEqual(whole);
  });

  it("reads the source only as fast as the stream is read", async () => {
    const { events, read } = createSource([runStart, stepStart, delta("a"), delta("b")]);
    const reader = toUIMessageStream(events).getReader();
    await setImmediate();
    expect(read()).toBe(0);
    await reader.read();
    await setImmediate();
    expect(read()).toBe(1);
  });

  it("closes the source exactly once when the stream is canceled", async () => {
    const { events, left } = createSource([runStart], "never");
    const reader = toUIMessageStream(events).getReader();
    await reader.read();
    const waiting = reader.read();
    await reader.cancel();
    expect((await waiting).done).toBe(true);
    expect(left()).toBe(1);
  });

  it("ends with an error chunk with a neutral message if the source throws", async () => {
    const { events } = createSource([runStart, stepStart, delta("a")], new Error("disk /secret"));
    const chunks: UIMessageChunk[] = [];
    const reader = toUIMessageStream(events).getReader();
    for (let read = await reader.read(); !read.done; read = await reader.read()) chunks.push(read.value);
    expect(chunks.map(({ type }) => type)).toEqual([...whole.slice(0, -1), "error", "finish"]);
    expect(chunks.at(-2)).toEqual({ type: "error", errorText: "An error occurred." });
    expect(await readAll(toUIMessageStream(createSource([], new Error("x")).events))).toEqual(["error", "finish"]);
  });

  it("rejects invalid options before reading the source", () => {
    const touched: AsyncIterable<LoopEvent> = {
      [Symbol.asyncIterator]: () => {
        throw new Error("touched");
      },
    };
    const attempt = (options: object): unknown => {
      try {
        return toUIMessageStream(touched, options);
      } catch (error) {
        return isLoopError(error) ? error.code : error;
      }
    };
    expect([{ version: 8 }, { from: "end" }, { messageId: "" }, { onError: 1 }].map(attempt)).toEqual(
      Array(4).fill("invalid-option"),
    );
    expect(attempt({ versions: 6 })).toBe("unknown-option");
    expect(attempt({ keepAliveMs: 1 })).toBe("unknown-option");
  });
});

describe("toUIMessageStreamResponse", () => {
  it("sends Server-Sent Events with the protocol's headers", async () => {
    const { events } = createSource([runStart]);
    const response = toUIMessageStreamResponse(events, { headers: { "X-Extra": "1" }, keepAliveMs: Infinity });
    expect(Object.fromEntries(response.headers)).toEqual({
      "content-type": "text/event-stream",
      "cache-control": "no-cache, no-transform",
      "x-accel-buffering": "no",
      "x-vercel-ai-ui-message-stream": "v1",
      "x-extra": "1",
    });
    expect(await response.text()).toBe(
      'data: {"type":"start","messageId":"r"}\n\ndata: {"type":"finish","finishReason":"other"}\n\ndata: [DONE]\n\n',
    );
  });

  it("answers with status 204 if there is no run to read", async () => {
    const response = toUIMessageStreamResponse(undefined, { headers: { "X-Extra": "1" } });
    expect([response.status, response.headers.get("x-extra"), await response.text()]).toEqual([204, "1", ""]);
  });

  it("sends a comment after keepAliveMs without a chunk", async () => {
    const clock = createTestClock();
    const { events, left } = createSource([runStart], "never");
    const body = toUIMessageStreamResponse(events, { clock, keepAliveMs: 1_000 }).body;
    const reader = body?.getReader();
    const next = async (): Promise<string> => new TextDecoder().decode((await reader?.read())?.value);
    expect(await next()).toContain('"start"');
    // The stream waits for the reader.
    expect(clock.pending).toBe(1);
    const silent = next();
    await clock.advance(999);
    await clock.advance(1);
    expect(await silent).toBe(": keep-alive\n\n");
    void next();
    await setImmediate();
    expect(clock.pending).toBe(1);
    await reader?.cancel();
    expect(clock.pending).toBe(0);
    expect(left()).toBe(1);
  });
});

describe("a UI stream response with a slow or silent reader", () => {
  it.each<[title: string, options: { readonly keepAliveMs?: number; readonly unreadMs?: number }, limit: number]>([
    ["four times keepAliveMs", { keepAliveMs: 500 }, 2_000],
    ["a minute without keepAliveMs", { keepAliveMs: Number.POSITIVE_INFINITY }, 60_000],
    ["unreadMs", { unreadMs: 700 }, 700],
  ])("is ended without stopping the run if nothing is read for %s", async (_title, options, limit) => {
    const clock = createTestClock();
    const { events, left } = createSource([runStart, stepStart, delta("Hi.")], "never");
    const reader = toUIMessageStreamResponse(events, { clock, ...options }).body?.getReader();
    await reader?.read();
    await clock.advance(limit - 1);
    expect(left()).toBe(0);
    await clock.advance(1);
    expect([left(), clock.pending]).toEqual([1, 0]);
    await expect(reader?.read()).rejects.toThrow("did not read it");
  });

  it("is never ended early with unreadMs: Infinity", async () => {
    const clock = createTestClock();
    const { events, left } = createSource([runStart, stepStart], "never");
    const reader = toUIMessageStreamResponse(events, { clock, unreadMs: Number.POSITIVE_INFINITY }).body?.getReader();
    await reader?.read();
    await clock.advance(10_000_000);
    expect([left(), clock.pending]).toEqual([0, 0]);
    await reader?.cancel();
  });

  it("is not ended early if the reader slowly reads a large chunk piece by piece", async () => {
    const clock = createTestClock();
    const { events, left } = createSource([runStart, stepStart, delta("a\u{1f600}".repeat(100_000))]);
    const sent: string[] = [];
    const listeners = new Map<string, () => void>();
    let ended = 0;
    const res = {
      destroyed: false,
      writableEnded: false,
      writeHead: () => {},
      flushHeaders: () => {},
      write: (piece: string) => sent.push(piece) < 0,
      end: () => (ended += 1),
      destroy: () => (ended += 100),
      on: (name: string, listener: () => void) => listeners.set(name, listener),
      off: (name: string) => listeners.delete(name),
    };
    const piped = pipeUIMessageStream(events, res, { clock, keepAliveMs: 250 });
    for (let turn = 0; turn < 40; turn += 1) {
      await setImmediate();
      await clock.advance(900);
      listeners.get("drain")?.();
    }
    await piped;
    expect([ended, left(), clock.pending]).toEqual([1, 0, 0]);
    expect(sent.length).toBeGreaterThan(5);
    expect(sent.join("")).toContain("a\u{1f600}".repeat(100_000));
    expect(sent.every((piece) => piece.isWellFormed())).toBe(true);
  });

  it("frees its conversation even if the connection stays open", async () => {
    const clock = createTestClock();
    const { events, left } = createSource([runStart, stepStart, delta("Hi.")], "never");
    const destroyed: string[] = [];
    const listeners = new Map<string, () => void>();
    const res = {
      destroyed: false,
      writableEnded: false,
      writeHead: () => {},
      flushHeaders: () => {},
      write: () => false,
      end: () => destroyed.push("end"),
      destroy: () => destroyed.push("destroy"),
      on: (name: string, listener: () => void) => listeners.set(name, listener),
      off: (name: string) => listeners.delete(name),
    };
    const piped = pipeUIMessageStream(events, res, { clock, keepAliveMs: 250 });
    await setImmediate();
    await clock.advance(1_000);
    await piped;
    expect([destroyed, left(), listeners.size, clock.pending]).toEqual([["destroy"], 1, 0, 0]);
  });
});

describe("pipeUIMessageStream", () => {
  const servers: Server[] = [];
  afterEach(async () => {
    for (const server of servers.splice(0)) {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    }
  });

  interface Serving {
    readonly port: number;
    /** The number of listeners of each response after it was written. */
    readonly listeners: number[];
    readonly ended: Promise<void>;
  }

  async function serve(events: AsyncIterable<LoopEvent> | undefined): Promise<Serving> {
    const listeners: number[] = [];
    let end = (): void => {};
    const ended = new Promise<void>((resolve) => {
      end = resolve;
    });
    const server = createServer((_, res) => {
      const count = (): number => ["drain", "close", "error"].reduce((sum, name) => sum + res.listenerCount(name), 0);
      const before = count();
      const note = (): void => void listeners.push(count() - before);
      pipeUIMessageStream(events, res, { keepAliveMs: Infinity })
        .finally(note)
        .finally(end)
        .catch(() => undefined);
    });
    servers.push(server);
    await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
    return { port: (server.address() as AddressInfo).port, listeners, ended };
  }

  it("writes to a node:http response and leaves no listener", async () => {
    const { port, listeners, ended } = await serve(createSource([runStart, stepStart, delta("Hi.")]).events);
    const response = await fetch(`http://127.0.0.1:${port}`);
    expect(response.headers.get("x-vercel-ai-ui-message-stream")).toBe("v1");
    expect((await response.text()).split("\n\n").slice(-3)).toEqual([
      'data: {"type":"finish","finishReason":"other"}',
      "data: [DONE]",
      "",
    ]);
    await ended;
    expect(listeners).toEqual([0]);
  });

  it("answers with status 204 if there is no run to read", async () => {
    const { port, ended } = await serve(undefined);
    expect((await fetch(`http://127.0.0.1:${port}`)).status).toBe(204);
    await ended;
  });

  it("reads the source only as fast as a slow connection accepts data", async () => {
    const many = [runStart, stepStart, ...Array.from({ length: 5_000 }, () => delta("a".repeat(10_000)))];
    const { events, read, left } = createSource(many);
    const { port, listeners, ended } = await serve(events);
    const socket = connect(port, "127.0.0.1");
    socket.pause();
    socket.write("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n");
    // Waits until the write buffers are full.
    for (let before = -1; before !== read() || read() === 0;) {
      before = read();
      for (let turn = 0; turn < 50; turn += 1) await setImmediate();
    }
    expect(read()).toBeLessThan(many.length / 2);
    socket.destroy();
    await ended;
    expect(left()).toBe(1);
    expect(listeners).toEqual([0]);
  });

  it("stops even a run that emits no events when the page disconnects", async () => {
    const provider = createMockProvider([[text("Hi."), stall()]]);
    const run = streamToolLoop({ provider, messages: [{ role: "user", content: "Go." }], clock: createTestClock() });
    const { port, ended } = await serve(run);
    const abort = new AbortController();
    const response = await fetch(`http://127.0.0.1:${port}`, { signal: abort.signal });
    await response.body?.getReader().read();
    abort.abort();
    await ended;
    expect((await run.result).reason).toMatchObject({ kind: "stopped", note: "The reader left." });
  });
});
