import { createServer, type IncomingMessage, request, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, expect, it } from "vitest";
import { type LoopEvent, streamToolLoop, toolResult } from "turnwright";
import { pipeAGUIStream, toAGUIResponse } from "turnwright/ag-ui";
import { lastEventId, pipeEventStream, toEventStream, toEventStreamResponse } from "turnwright/host";
import { createMockProvider, createTestClock, fail, stall, text, toolCall, wait } from "turnwright/testing";
import { toUIMessageStreamResponse } from "turnwright/ui-message-stream";
import { createStage, playing, readAll, readStart, tool } from "./stage.ts";

interface Sent {
  readonly id: string | undefined;
  readonly event: string | undefined;
  readonly data: unknown;
}

function parse(body: string): readonly Sent[] {
  return body.split("\n\n").flatMap((block) => {
    const field = (name: string): string | undefined =>
      block
        .split("\n")
        .find((line) => line.startsWith(`${name}: `))
        ?.slice(name.length + 2);
    const data = field("data");
    return data === undefined ? [] : [{ id: field("id"), event: field("event"), data: JSON.parse(data) as unknown }];
  });
}

const base = { runId: "run", iteration: 0 };

async function* listOf(...events: readonly LoopEvent[]): AsyncGenerator<LoopEvent> {
  yield* events;
}

const bodyOf = (source: AsyncIterable<LoopEvent>, options = {}): Promise<string> =>
  new Response(toEventStream(source, options)).text();

describe("toEventStreamResponse", () => {
  it("sends only the events after the reader's last event", async () => {
    const { host, clock, id } = createStage();
    await readStart(host.start(id, { ...playing([text("Line one.\nLine two.\r\n\n\u2028")], clock), message: "Go." }));
    const response = toEventStreamResponse(host.join(id));
    expect([response.status, Object.fromEntries(response.headers)]).toEqual([
      200,
      { "cache-control": "no-cache, no-transform", "content-type": "text/event-stream", "x-accel-buffering": "no" },
    ]);
    const sent = parse(await response.text());
    const items = await readAll(host.join(id));
    expect(sent).toEqual(
      items.map((item) => ({ id: item.id, event: item.event.type, data: JSON.parse(JSON.stringify(item.event)) })),
    );
    const rest = await toEventStreamResponse(host.join(id, { from: sent[2]?.id })).text();
    expect(parse(rest)).toEqual(sent.slice(3));
  });

  it("answers 204 if there is nothing to send", async () => {
    const { host, clock, id } = createStage();
    expect(toEventStreamResponse(host.join(id)).status).toBe(204);
    await readStart(host.start(id, { ...playing([text("One.")], clock), message: "Go." }));
    const from = (await readAll(host.join(id))).at(-1)?.id;
    const response = toEventStreamResponse(host.join(id, { from }), { headers: { "x-own": "1" } });
    expect([response.status, response.body, response.headers.get("x-own")]).toEqual([204, null, "1"]);
  });

  it('sends a "reset" event first if the reader must start again', async () => {
    const { host, clock, id } = createStage();
    await readStart(host.start(id, { ...playing([text("One.")], clock), message: "Go." }));
    const sent = parse(await toEventStreamResponse(host.join(id, { from: "other-1" })).text());
    expect(sent.slice(0, 2)).toMatchObject([{ event: "reset", data: {} }, { event: "run-start" }]);
  });
});

describe("toEventStream", () => {
  it("sends a description instead of data that JSON cannot represent", async () => {
    const cyclic: Record<string, unknown> = {};
    cyclic["self"] = cyclic;
    const throwing = {
      toJSON() {
        throw new Error("No.");
      },
    };
    const progress = (data: unknown): LoopEvent => ({ ...base, type: "tool-progress", callId: "c", name: "t", index: 0, data });
    const sent = parse(await bodyOf(listOf(...[1n, cyclic, throwing, { deep: [2n] }, undefined, "fine"].map(progress))));
    expect(sent.map(({ data }) => (data as { readonly data: unknown }).data)).toEqual([
      "(not sent: a bigint)",
      "(not sent: an object)",
      "(not sent: an object)",
      "(not sent: an object)",
      undefined,
      "fine",
    ]);
  });

  it("sends error messages only with includeMetadata", async () => {
    const broken = createMockProvider([fail({ status: 400, message: "secret" })]);
    const run = () => streamToolLoop({ provider: broken, messages: [{ role: "user", content: "Go." }] });
    const sent = await bodyOf(run());
    expect(sent).not.toContain("secret");
    expect(parse(sent).at(-1)?.data).toMatchObject({
      type: "run-end",
      reason: { kind: "provider-error", error: { code: "bad-request" } },
    });
    const decided: LoopEvent = {
      ...base,
      type: "approval-decided",
      callId: "a",
      name: "pay",
      index: 0,
      decision: "failed",
      error: { name: "Error", message: "secret" },
    };
    expect(await bodyOf(listOf(decided))).not.toContain("secret");
    expect(await bodyOf(listOf(decided), { includeMetadata: true })).toContain("secret");
  });

  it("sends the error of a tool only with includeMetadata", async () => {
    const refuse = (): never => {
      throw new Error("secret");
    };
    const run = () =>
      streamToolLoop({
        provider: createMockProvider([[toolCall("pay"), toolCall("look")], text("Done.")]),
        tools: [tool("pay", refuse), tool("look", () => "seen")],
        messages: [{ role: "user", content: "Go." }],
      });
    const sent = await bodyOf(run());
    expect(sent).not.toContain("secret");
    const ends = parse(sent).flatMap(({ event, data }) => (event === "tool-end" ? [data] : []));
    expect(ends).toMatchObject([
      { name: "pay", outcome: "failed", result: null },
      { name: "look", outcome: "completed", result: "seen" },
    ]);
    expect(await bodyOf(run(), { includeMetadata: true })).toContain("secret");
  });

  it('sends result metadata, "hidden-notice" and "listener-error" only with includeMetadata', async () => {
    const save = tool("save", () => toolResult({ data: "saved", metadata: { key: "secret" } }));
    const run = () =>
      streamToolLoop({
        provider: createMockProvider([toolCall("save"), text("Done.")]),
        tools: [save],
        messages: [{ role: "user", content: "Go." }],
      });
    expect(await bodyOf(run())).not.toContain("secret");
    expect(await bodyOf(run(), { includeMetadata: true })).toContain("secret");
    const internal: LoopEvent = {
      ...base,
      type: "listener-error",
      event: "text-delta",
      error: { name: "Error", message: "secret" },
    };
    expect(parse(await bodyOf(listOf(internal)))).toEqual([]);
    expect(parse(await bodyOf(listOf(internal), { includeMetadata: true }))).toHaveLength(1);
  });

  it('ends with a "failure" event and a neutral message if the source throws', async () => {
    async function* failing(): AsyncGenerator<LoopEvent> {
      yield { ...base, type: "text-delta", text: "One." };
      throw new Error("secret");
    }
    const sent = parse(await bodyOf(failing()));
    expect(sent.map(({ event }) => event)).toEqual(["text-delta", "failure"]);
    expect(JSON.stringify(sent)).not.toContain("secret");
  });

  it("sends a comment after each keepAliveMs without an event", async () => {
    const clock = createTestClock();
    const { host, id } = createStage();
    await host.start(id, { ...playing([[text("One."), wait(40_000), text("Two.")]], clock), message: "Go." });
    const body = new Response(toEventStream(host.join(id) ?? listOf(), { clock })).text();
    await clock.advance(40_000);
    await clock.flush();
    expect((await body).match(/^: keep-alive$/gm)).toHaveLength(2);
    expect(clock.pending).toBe(0);
  });

  it("stops reading when the stream is canceled, without stopping the run", async () => {
    const clock = createTestClock();
    const { host, id } = createStage({ stopWhenUnread: true });
    await host.start(id, { ...playing([[text("One."), stall()]], clock), message: "Go.", stopWhenUnread: false });
    const reader = toEventStream(host.join(id) ?? listOf(), { clock }).getReader();
    await reader.read();
    await reader.cancel();
    expect((await host.status(id))?.isLive).toBe(true);
    host.stop(id);
  });

  it("rejects a Headers object as options.headers, even if there is nothing to send", async () => {
    const options = { headers: new Headers({ "x-own": "1" }) } as never;
    expect(() => toEventStreamResponse(listOf(), options)).toThrow("a plain object whose values are strings");
    expect(() => toEventStreamResponse(undefined, options)).toThrow("a plain object whose values are strings");
    await expect(pipeEventStream(undefined, {} as never, options)).rejects.toThrow(
      "Object.fromEntries converts a Headers object",
    );
    expect(() => toAGUIResponse(undefined, options)).toThrow("a plain object whose values are strings");
    await expect(pipeAGUIStream(undefined, {} as never, options)).rejects.toThrow("a plain object whose values are strings");
    expect(() => toUIMessageStreamResponse(listOf(), options)).toThrow("a plain object whose values are strings");
  });

  it.for([
    { keepAliveMs: 0 },
    { headers: 7 },
    { headers: new Map() },
    { headers: [] },
    { clock: {} },
    { includeMetadata: "yes" },
    { retry: 5 },
  ])("rejects the invalid options %j", (options) => {
    expect(() => toEventStream(listOf(), options as never)).toThrow(/option/i);
  });
});

describe("lastEventId", () => {
  it.for<[title: string, given: object, expected: string | undefined]>([
    ["the offset in the URL's query string", { url: "http://x/?a=1&offset=abc-1#x", headers: new Headers() }, "abc-1"],
    [
      "the Last-Event-ID header even if the URL has an offset",
      { url: "http://x/?offset=abc-1", headers: new Headers({ "Last-Event-ID": "abc-2-5" }) },
      "abc-2-5",
    ],
    ["undefined for the offset -1", { url: "/stream?offset=-1", headers: {} }, undefined],
    ["the Last-Event-ID header of a node:http request", { url: "/stream", headers: { "last-event-id": "abc-2" } }, "abc-2"],
    [
      "undefined if the Last-Event-ID header is repeated",
      { url: "/stream", headers: { "last-event-id": ["a", "b"] } },
      undefined,
    ],
    [
      "the offset in the URL if the Last-Event-ID header is empty",
      { url: "/stream?offset=abc-3", headers: { "last-event-id": "" } },
      "abc-3",
    ],
    [
      "undefined if the Last-Event-ID header is too long",
      { url: "/stream", headers: { "last-event-id": "x".repeat(1_000) } },
      undefined,
    ],
    ["undefined if the headers are invalid", { headers: { get: "x" } }, undefined],
    ['undefined if the request inherits the property "headers"', Object.create({ headers: {} }), undefined],
  ])("returns %s", ([, given, expected]) => {
    expect(lastEventId(given as never)).toBe(expected);
  });
});

describe("pipeEventStream", () => {
  async function serve(answer: (req: IncomingMessage, res: ServerResponse) => Promise<void>) {
    const ended: Promise<void>[] = [];
    const server = createServer((req, res) => void ended.push(answer(req, res)));
    await new Promise<void>((ready) => server.listen(0, "127.0.0.1", ready));
    const { port } = server.address() as AddressInfo;
    return { url: `http://127.0.0.1:${port}/`, ended, close: () => new Promise((done) => server.close(done)) };
  }

  it("writes a run's events to a node:http response", async () => {
    const { host, clock, id } = createStage();
    await readStart(host.start(id, { ...playing([text("One.")], clock), message: "Go." }));
    const server = await serve((req, res) => pipeEventStream(host.join(id, { from: lastEventId(req) }), res));
    const first = await fetch(server.url);
    const sent = parse(await first.text());
    expect([first.headers.get("content-type"), sent.at(-1)?.event]).toEqual(["text/event-stream", "run-end"]);
    const again = await fetch(server.url, { headers: { "last-event-id": sent.at(-1)?.id ?? "" } });
    expect(again.status).toBe(204);
    await Promise.all(server.ended);
    await server.close();
  });

  it("stops reading when the client disconnects, without stopping the run", async () => {
    const { host, clock, id } = createStage();
    await host.start(id, { ...playing([[text("One."), stall()]], clock), message: "Go." });
    const server = await serve((_, res) => pipeEventStream(host.join(id), res, { clock }));
    await new Promise<void>((gone) => {
      const page = request(server.url, (res) => res.once("data", () => page.destroy()));
      page.on("close", () => gone());
      page.on("error", () => {});
      page.end();
    });
    await Promise.all(server.ended);
    expect([(await host.status(id))?.isLive, clock.pending > 0]).toEqual([true, true]);
    host.stop(id);
    await readAll(host.join(id));
    await host.close();
    expect(clock.pending).toBe(0);
    await server.close();
  });
});
