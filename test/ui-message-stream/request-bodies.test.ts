import { once } from "node:events";
import { createServer, type IncomingMessage, type Server } from "node:http";
import { type AddressInfo, connect, type Socket } from "node:net";
import express, { type RequestHandler } from "express";
import { describe, expect, it, onTestFinished } from "vitest";
import { isRequestError, readAGUIRequest } from "turnwright/ag-ui";
import type { RequestLimits } from "../../src/web/read-user-message.ts";
import { createTestClock } from "turnwright/testing";
import { readUIChatRequest } from "turnwright/ui-message-stream";

type Read = (source: Request | IncomingMessage | string | object, limits?: RequestLimits) => Promise<unknown>;

const bodyWith = (text: string): object => ({
  id: "chat",
  threadId: "t",
  runId: "r",
  messages: [{ id: "u", role: "user", content: text, parts: [{ type: "text", text }] }],
});

const encoder = new TextEncoder();

function openRequest(): { request: Request; body: ReadableStreamDefaultController<Uint8Array>; isCancelled: () => boolean } {
  let body: ReadableStreamDefaultController<Uint8Array> | undefined;
  let cancelled = false;
  const stream = new ReadableStream<Uint8Array>({
    start: (controller) => void (body = controller),
    cancel: () => void (cancelled = true),
  });
  const headers = { "content-type": "application/json" };
  const request = new Request("http://localhost", { method: "POST", body: stream, headers, duplex: "half" } as RequestInit);
  if (body === undefined) throw new Error("The stream has not started.");
  return { request, body, isCancelled: () => cancelled };
}

async function openConnection(answer: (request: IncomingMessage) => Promise<string>): Promise<Socket> {
  const server: Server = createServer((req, res) => {
    void answer(req).then((said) => res.writeHead(400, { connection: "close" }).end(said));
  });
  await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
  onTestFinished(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });
  const socket = connect((server.address() as AddressInfo).port, "127.0.0.1");
  socket.on("error", () => undefined);
  socket.write('POST / HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: 100\r\n\r\n{"id":');
  return socket;
}

const refusalOf = (reading: Promise<unknown>): Promise<unknown> => reading.catch((error: unknown) => error);

const drain: RequestHandler = (request, _response, next) => void request.resume().on("end", () => next());

describe.each<[name: string, read: Read]>([
  ["readUIChatRequest", readUIChatRequest],
  ["readAGUIRequest", readAGUIRequest],
])("%s", (_, read) => {
  it.each<{ name: string; limits: RequestLimits; ms: number }>([
    { name: "the default of 30 s", limits: {}, ms: 30_000 },
    { name: "bodyMs", limits: { bodyMs: 50 }, ms: 50 },
  ])("rejects a body that takes longer than $name", async ({ limits, ms }) => {
    const clock = createTestClock();
    const { request, body, isCancelled } = openRequest();
    const seen: unknown[] = [];
    const refused = refusalOf(read(request, { ...limits, clock })).then((error) => seen.push(error));
    // Each piece arrives in time, but the whole body takes too long.
    body.enqueue(encoder.encode('{"id":'));
    await clock.advance(ms - 1);
    body.enqueue(encoder.encode('"chat",'));
    await clock.flush();
    expect(seen).toEqual([]);
    await clock.advance(1);
    await refused;
    expect(seen).toMatchObject([{ status: 408, message: `The request body took longer than ${ms} ms to arrive.` }]);
    expect([isCancelled(), clock.pending]).toEqual([true, 0]);
  });

  it.each([{ bodyMs: 5 }, { bodyMs: Infinity }])("reads a body that arrives in time with the options %o", async (limits) => {
    const clock = createTestClock();
    const { request, body } = openRequest();
    const reading = read(request, { ...limits, clock });
    await clock.flush();
    expect(clock.pending).toBe(limits.bodyMs === 5 ? 1 : 0);
    body.enqueue(encoder.encode(JSON.stringify(bodyWith("Grüße"))));
    body.close();
    expect(await reading).toMatchObject({ message: { content: "Grüße" } });
    expect(clock.pending).toBe(0);
  });

  it("rejects a web request that is aborted in the middle of the body", async () => {
    const { request, body } = openRequest();
    const refused = refusalOf(read(request));
    body.error(new DOMException("aborted", "AbortError"));
    expect(await refused).toMatchObject({ status: 400, message: "The connection closed before the request body was complete." });
  });

  it("rejects a node:http request whose connection closes in the middle of the body", async () => {
    let begin: () => void = () => {};
    const begun = new Promise<void>((resolve) => void (begin = resolve));
    let tell: (error: unknown) => void = () => {};
    const refused = new Promise<unknown>((resolve) => void (tell = resolve));
    const socket = await openConnection(async (request) => {
      const reading = refusalOf(read(request));
      begin();
      tell(await reading);
      return "";
    });
    await begun;
    socket.destroy();
    const error = await refused;
    expect([isRequestError(error), error]).toMatchObject([true, { status: 400, cause: { code: "ECONNRESET" } }]);
  });

  it("lets the server respond to a node:http request whose body takes too long", async () => {
    const clock = createTestClock();
    const socket = await openConnection(async (request) => {
      const refused = refusalOf(read(request, { clock }));
      await clock.advance(30_000);
      const error = await refused;
      return isRequestError(error) ? `${error.status} ${error.message}` : "no error";
    });
    const [answer] = (await once(socket, "data")) as [Buffer];
    socket.destroy();
    expect(answer.toString()).toContain("408 The request body took longer than 30000 ms to arrive.");
  });

  it.each([
    ["express.json()", [express.json()], { message: { content: "Hi." } }],
    ["express.json(), with a body of more than maxBytes", [express.json()], { status: 413 }],
    ["no parser", [], { message: { content: "Hi." } }],
    ["a parser that does not keep the body", [drain], { code: "invalid-option" }],
  ] as const)("reads an Express request after %s", async (name, parsers, expected) => {
    const app = express();
    const maxBytes = name.includes("more than") ? 10 : 1_000;
    const seen = new Promise<unknown>((resolve) => {
      app.post("/", ...parsers, (request, response) => {
        resolve(refusalOf(read(request, { maxBytes }).finally(() => response.end())));
      });
    });
    const server = app.listen(0, "127.0.0.1");
    await once(server, "listening");
    onTestFinished(() => void server.close());
    const headers = { "content-type": "application/json" };
    const body = JSON.stringify(bodyWith("Hi."));
    await fetch(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`, { method: "POST", headers, body });
    expect(await seen).toMatchObject(expected);
  });

  it("says that the body of a web request has already been read", async () => {
    const headers = { "content-type": "application/json" };
    const request = new Request("http://localhost", { method: "POST", headers, body: JSON.stringify(bodyWith("Hi.")) });
    const { body } = request;
    const reader = body?.getReader();
    expect(await refusalOf(read(request))).toMatchObject({ code: "invalid-option" });
    reader?.releaseLock();
    await request.json();
    expect(await refusalOf(read(request))).toMatchObject({
      message: expect.stringMatching(/^Option "requestOrBody" is a request whose body has been read, but must be /),
    });
  });

  it.each<{ name: string; toSource: (body: object) => string | object }>([
    { name: "a string", toSource: (body) => JSON.stringify(body) },
    { name: "a parsed body", toSource: (body) => body },
  ])("compares maxBytes with the UTF-8 bytes of $name", async ({ toSource }) => {
    const body = bodyWith("ü😀".repeat(50));
    const maxBytes = encoder.encode(JSON.stringify(body)).byteLength;
    expect(await read(toSource(body), { maxBytes })).toMatchObject({ message: { role: "user" } });
    expect(await refusalOf(read(toSource(body), { maxBytes: maxBytes - 1 }))).toMatchObject({ status: 413 });
  });

  it.each([{ bodyMs: 0 }, { bodyMs: "1" }, { clock: {} }])("rejects the invalid options %j", async (limits) => {
    expect(await refusalOf(read(bodyWith("Hi."), limits as never))).toMatchObject({ code: "invalid-option" });
  });
});

it("readAGUIRequest: rejects a tool message whose content is nested too deeply", async () => {
  const requestOf = (levels: number): object => ({
    threadId: "t",
    runId: "r",
    messages: [{ id: "m", role: "tool", toolCallId: "t/1:c", content: "[".repeat(levels) + "]".repeat(levels) }],
  });
  expect(await readAGUIRequest(requestOf(200))).toMatchObject({ answers: { c: { kind: "result" } } });
  const message = "The content of a tool message is nested more than 200 levels deep.";
  expect(await refusalOf(readAGUIRequest(requestOf(202)))).toMatchObject({ status: 400, message });
  expect(await refusalOf(readAGUIRequest(requestOf(100_000)))).toMatchObject({ status: 400, message });
});
