import { describe, expect, it } from "vitest";
import { isRequestError, readAGUIRequest, RequestError } from "turnwright/ag-ui";

const ids = { threadId: "t", runId: "r" };
const none = { answers: {} };
const user = (content: unknown) => ({ ...ids, messages: [{ id: "u", role: "user", content }] });
const png = "iVBORw0KGgo=";
const url = `data:image/png;base64,${png}`;
const image = { type: "image", mediaType: "image/png", data: url };

describe("readAGUIRequest", () => {
  it.for<[string, unknown, unknown]>([
    ["a user message with a string", "Hi.", "Hi."],
    [
      "a user message with text parts",
      [
        { type: "text", text: "One." },
        { type: "text", text: "" },
      ],
      "One.",
    ],
    ["an AG-UI 1.0 image", [{ type: "image", source: { type: "data", value: png, mimeType: "image/png" } }], [image]],
    [
      "the name of an AG-UI 1.0 file",
      [
        {
          type: "document",
          source: { type: "data", value: "JVBERi0xLjQK", mimeType: "application/pdf" },
          metadata: { filename: "bill.pdf" },
        },
      ],
      [{ type: "file", mediaType: "application/pdf", data: "data:application/pdf;base64,JVBERi0xLjQK", filename: "bill.pdf" }],
    ],
    ["an AG-UI 0.0 image", [{ type: "binary", mimeType: "image/png", data: png }], [image]],
    ["an AG-UI 0.0 image with a data URL", [{ type: "binary", mimeType: "image/png", url }], [image]],
  ])("reads %s", async ([, content, expected]) => {
    expect(await readAGUIRequest(user(content))).toEqual({
      ...ids,
      message: { role: "user", content: expected, id: "u" },
      ...none,
    });
  });

  it("ignores new messages in a request that answers interrupts", async () => {
    const resume = [{ interruptId: "t/1:a", status: "resolved", payload: { approved: true } }];
    const request = await readAGUIRequest({ ...user("Pay."), resume });
    expect([request.message, request.answers]).toEqual([undefined, { a: { kind: "approve", fromPage: true } }]);
  });

  it.for([
    ["approves a call", { approved: true }, 403],
    ["denies a call", { approved: false }, 403],
    ["sends a result", { result: 1 }, undefined],
    ["sends an error", { error: "Closed." }, undefined],
  ] as const)("with allowDecisions false, checks a page that %s", async ([, payload, status]) => {
    const request = { ...ids, messages: [], resume: [{ interruptId: "t/1:a", status: "resolved", payload }] };
    const reading = readAGUIRequest(request, { allowDecisions: false });
    const refusal = await reading.then(
      () => undefined,
      (error: unknown) => isRequestError(error) && error.status,
    );
    expect(refusal).toBe(status);
    expect(await readAGUIRequest(request)).toMatchObject({ continues: "t/1" });
  });

  it("returns the answers to interrupts, and the id of the interrupted run", async () => {
    const entry = (interruptId: string, payload: unknown, status = "resolved") => ({ interruptId, status, payload });
    const resume = [
      entry("chat%3A1/2:a", { approved: true }),
      entry("chat%3A1/2:b", { approved: true, args: { n: 1 } }),
      entry("chat%3A1/2:c", { approved: false, reason: "No." }),
      entry("chat%3A1/2:d", { approved: true }, "cancelled"),
      entry("chat%3A1/2:e:0", { result: { n: 2 } }),
      entry("chat%3A1/2:f/g#2", { error: "Closed." }),
    ];
    expect(await readAGUIRequest({ ...ids, messages: [], resume })).toEqual({
      ...ids,
      continues: "chat:1/2",
      answers: {
        a: { kind: "approve", fromPage: true },
        b: { kind: "modify", args: { n: 1 }, fromPage: true },
        c: { kind: "deny", reason: "No.", fromPage: true },
        d: { kind: "deny", fromPage: true },
        "e:0": { kind: "result", result: { n: 2 }, fromPage: true },
        "f/g#2": { kind: "failed", error: "Closed.", fromPage: true },
      },
    });
  });

  it("returns results only for calls to the client's own tools", async () => {
    const message = (callId: string, more: object) => ({ id: `m-${callId}`, role: "tool", toolCallId: `t/1:${callId}`, ...more });
    const messages = [
      message("earlier", { content: "1" }),
      { id: "a", role: "assistant", content: "" },
      message("server", { content: "1", id: "t/1:server:result" }),
      message("json", { content: '{"n":1}' }),
      message("text", { content: "Fine." }),
      message("broken", { content: "", error: "Closed." }),
    ];
    expect(await readAGUIRequest({ ...ids, messages })).toEqual({
      ...ids,
      continues: "t/1",
      answers: {
        json: { kind: "result", result: { n: 1 }, fromPage: true },
        text: { kind: "result", result: "Fine.", fromPage: true },
        broken: { kind: "failed", error: "Closed.", fromPage: true },
      },
    });
    const resume = [{ interruptId: "t/1:x", status: "cancelled" }];
    expect((await readAGUIRequest({ ...ids, messages, resume })).answers).toEqual({ x: { kind: "deny", fromPage: true } });
  });

  it("rejects text longer than maxTextChars with an error that is safe to show to users", async () => {
    const error = await readAGUIRequest(user("Too long."), { maxTextChars: 3 }).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(RequestError);
    expect(isRequestError(error)).toBe(true);
    expect(error).toMatchObject({ status: 413, message: "The message has more than 3 characters of text." });
    await expect(readAGUIRequest(user("Hi."), { limit: 3 } as object)).rejects.toMatchObject({ code: "unknown-option" });
  });
});
