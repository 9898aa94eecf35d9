import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, it } from "vitest";
import { isLoopError } from "turnwright";
import { isRequestError, readUIChatRequest, RequestError } from "turnwright/ui-message-stream";

const text = (value: string): object => ({ type: "text", text: value });
const user = (...parts: readonly object[]): object => ({ id: "u", role: "user", parts });
const body = (last: object, more: object = {}): object => ({ id: "chat", trigger: "submit-message", messages: [last], ...more });
const png = { type: "file", mediaType: "image/png", url: "data:image/png;base64,iVBORw0KGgo=", filename: "a.png" };

it("readUIChatRequest: returns the last user message's text", async () => {
  expect(await readUIChatRequest(body(user(text("Hello"))))).toEqual({
    id: "chat",
    trigger: "submit",
    message: { role: "user", content: "Hello", id: "u" },
    answers: {},
  });
});

it.for([
  ["approves a call", "approve", 403],
  ["denies a call", "deny", 403],
  ["edits a call", "modify", 403],
  ["answers a question", "result", undefined],
  ["reports an error of its tool", "failed", undefined],
] as const)("readUIChatRequest: with allowDecisions false, checks a page that %s", async ([, kind, status]) => {
  const answers = { a: { kind, args: {}, result: 1, error: "Closed." } };
  const reading = readUIChatRequest(body(user(text("Hello")), { answers }), { allowDecisions: false });
  const refusal = await reading.then(
    () => undefined,
    (error: unknown) => isRequestError(error) && error.status,
  );
  expect(refusal).toBe(status);
  expect((await readUIChatRequest(body(user(text("Hello")), { answers }))).answers).toMatchObject({ a: { kind } });
});

it("readUIChatRequest: returns files as message content", async () => {
  const web = { type: "file", mediaType: "application/pdf", url: "https://example.com/a.pdf" };
  const { message } = await readUIChatRequest(body(user(png, text("What is it?"), web)), { allowWebUrls: true });
  expect(message?.content).toEqual([
    { type: "image", mediaType: "image/png", data: png.url, filename: "a.png" },
    { type: "text", text: "What is it?" },
    { type: "file", mediaType: "application/pdf", data: web.url },
  ]);
});

it("readUIChatRequest: accepts a text file whose type the browser does not know", async () => {
  const fileOf = (bytes: string): object => ({
    type: "file",
    mediaType: "",
    filename: "notes.md",
    url: `data:application/octet-stream;base64,${Buffer.from(bytes).toString("base64")}`,
  });
  const limits = { allowedMediaTypes: ["text/*"] };
  const { message } = await readUIChatRequest(body(user(fileOf("# Notes"))), limits);
  expect(message?.content).toMatchObject([{ type: "file", mediaType: "text/plain", filename: "notes.md" }]);
  await expect(readUIChatRequest(body(user(fileOf("PK\0\x03"))), limits)).rejects.toMatchObject({ status: 415 });
  for (const any of ["*", "*/*"]) {
    const all = await readUIChatRequest(body(user(fileOf("PK\0\x03"))), { allowedMediaTypes: [any] });
    expect(all.message?.content).toMatchObject([{ type: "file", mediaType: "application/octet-stream" }]);
  }
  await expect(readUIChatRequest(body(user(fileOf("# Notes"))))).rejects.toMatchObject({ status: 415 });
});

it("readUIChatRequest: returns the id of a message that was edited or is to be regenerated", async () => {
  const edited = await readUIChatRequest(body(user(text("Hi")), { messageId: "u" }));
  expect(edited).toMatchObject({ trigger: "submit", messageId: "u", message: { content: "Hi", id: "u", edited: true } });
  const reused = await readUIChatRequest({ id: "chat", messages: [user(text("Hi")), user(text("Ho"))] });
  expect(reused.message).toEqual({ role: "user", content: "Ho" });
  const again = await readUIChatRequest(body(user(text("Hi")), { trigger: "regenerate-message", messageId: "chat/1" }));
  expect(again).toEqual({
    id: "chat",
    trigger: "regenerate",
    messageId: "chat/1",
    message: { role: "user", content: "Hi", id: "u", again: "chat/1" },
    answers: {},
  });
  const last = await readUIChatRequest(body(user(text("Hi")), { trigger: "regenerate-message" }));
  expect(last.message).toMatchObject({ id: "u", again: true });
});

it("readUIChatRequest: returns approvals, results and edits from the last assistant message", async () => {
  const part = { type: "tool-pay", input: {} };
  const parts = [
    { ...part, toolCallId: "r:a", state: "approval-responded", approval: { id: "r:a", approved: true } },
    { ...part, toolCallId: "r:b", state: "approval-responded", approval: { id: "r:b#2", approved: false, reason: "no" } },
    { ...part, toolCallId: "r:c/d", state: "approval-responded", approval: { id: "r:c/d", approved: true } },
    { ...part, toolCallId: "r:e", state: "output-available", output: { ok: 1 } },
    { ...part, toolCallId: "r:f", state: "output-error", errorText: "no camera" },
    { ...part, toolCallId: "r:g", state: "output-available", output: 1, providerExecuted: true },
    { ...part, toolCallId: "r:h", state: "input-available" },
  ];
  const answers = {
    "r:a": { kind: "modify", args: { amount: 2 }, by: "forged" },
    c: { kind: "deny", reason: "later" },
    d: { kind: "approve" },
  };
  expect(await readUIChatRequest(body({ id: "r", role: "assistant", parts }, { answers }))).toEqual({
    id: "chat",
    trigger: "submit",
    continues: "r",
    answers: {
      a: { kind: "modify", args: { amount: 2 }, fromPage: true },
      "b#2": { kind: "deny", reason: "no", fromPage: true },
      "c/d": { kind: "approve", fromPage: true },
      c: { kind: "deny", reason: "later", fromPage: true },
      d: { kind: "approve", fromPage: true },
      e: { kind: "result", result: { ok: 1 }, fromPage: true },
      f: { kind: "failed", error: "no camera", fromPage: true },
    },
  });
});

it("readUIChatRequest: returns answers from a request that also has a new message", async () => {
  const messages = [{ id: "r", role: "assistant", parts: [] }, user(text("Go on."))];
  const read = await readUIChatRequest(body(user(), { messages, answers: { "r:a": { kind: "approve" } } }));
  expect(read).toMatchObject({ continues: "r", answers: { a: { kind: "approve" } }, message: { content: "Go on." } });
});

it("readUIChatRequest: accepts a web request, a node:http request and a string", async () => {
  const sent = JSON.stringify(body(user(text("Grüße"))));
  const headers = { "content-type": "application/json; charset=utf-8" };
  const web = new Request("http://localhost", { method: "POST", body: sent, headers });
  expect((await readUIChatRequest(web)).message?.content).toBe("Grüße");
  expect((await readUIChatRequest(sent)).message?.content).toBe("Grüße");
  const seen: unknown[] = [];
  const server = createServer((req, res) => {
    readUIChatRequest(req, { maxBytes: 10_000 }).then(
      ({ message }) => res.end(JSON.stringify(message)),
      (error: unknown) => {
        seen.push(error);
        if (isRequestError(error)) res.writeHead(error.status).end(error.message);
      },
    );
  });
  await new Promise<void>((resolve) => void server.listen(0, "127.0.0.1", resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  expect(await (await fetch(url, { method: "POST", body: sent, headers })).json()).toEqual({
    role: "user",
    content: "Grüße",
    id: "u",
  });
  const large = new ReadableStream({
    start: (controller) => {
      for (let count = 0; count < 20; count += 1) controller.enqueue(new TextEncoder().encode("a".repeat(1_000)));
      controller.close();
    },
  });
  // The request has no content-length, so the bytes must be counted while they arrive.
  const refused = await fetch(url, { method: "POST", body: large, headers, duplex: "half" } as RequestInit);
  expect({ status: refused.status, text: await refused.text() }).toEqual({
    status: 413,
    text: "The request body has more than 10000 bytes.",
  });
  expect(seen).toHaveLength(1);
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
});

it("readUIChatRequest: stops reading the body at the limit", async () => {
  let pieces = 0;
  const endless = new ReadableStream<Uint8Array>({
    pull: (controller) => {
      pieces += 1;
      controller.enqueue(new Uint8Array(1_000));
    },
  });
  const init = { method: "POST", body: endless, headers: { "content-type": "application/json" }, duplex: "half" };
  const reading = readUIChatRequest(new Request("http://localhost", init), { maxBytes: 5_000 });
  await expect(reading).rejects.toMatchObject({ status: 413 });
  expect(pieces).toBeLessThan(10);
});

it("readUIChatRequest: throws errors that name the problem and never quote the body", async () => {
  const error: unknown = await readUIChatRequest('{"id":"secret",').catch((error: unknown) => error);
  expect(error).toBeInstanceOf(RequestError);
  expect(error).toMatchObject({ status: 400, message: "The request body is not valid JSON." });
  const cyclic: { self?: object } = {};
  cyclic.self = cyclic;
  expect(await readUIChatRequest(cyclic).catch((error: unknown) => error)).toMatchObject({ status: 400 });
});

it("readUIChatRequest: rejects invalid options", async () => {
  const error: unknown = await readUIChatRequest("{}", { maxByte: 1 } as object).catch((error: unknown) => error);
  expect(isLoopError(error, "unknown-option") && error.details.nearest).toBe("maxBytes");
  await expect(readUIChatRequest("{}", { maxBytes: 0 })).rejects.toMatchObject({ code: "invalid-option" });
});
