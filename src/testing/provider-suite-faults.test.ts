import { describe, expect, it } from "vitest";
import { broken, complaintsOf, mapping, type Stream } from "../../test/testing/complaints-of.ts";
import type { ModelChunk } from "../core/types/provider.ts";
import { providerScenarios } from "./provider-scenarios.ts";

const never = new AbortController().signal;

describe("providerSuite with faulty providers", () => {
  it.for<[fault: string, breakStream: (stream: Stream) => Stream, complaints: Record<string, string>]>([
    [
      "yields two finishes",
      mapping((chunk) => (chunk.type === "finish" ? [chunk, chunk] : [chunk])),
      {
        "streams text and ends with exactly one finish chunk": 'The stream must have exactly one "finish" chunk, but has 2.',
        "sends a complete tool call with parsed arguments": 'The stream must have exactly one "finish" chunk, but has 2.',
        "keeps parallel calls apart": 'The stream must have exactly one "finish" chunk, but has 2.',
        "accepts tool results in the next request": 'The stream must have exactly one "finish" chunk, but has 2.',
        "leaves no listener on the signal after a finished stream": 'The stream must have exactly one "finish" chunk, but has 2.',
      },
    ],
    [
      "yields a chunk after its finish",
      mapping((chunk) => (chunk.type === "finish" ? [chunk, { type: "details", text: "more" }] : [chunk])),
      {
        "streams text and ends with exactly one finish chunk":
          'The stream must end with its "finish" chunk, but ends with "details".',
        "sends a complete tool call with parsed arguments":
          'The stream must end with its "finish" chunk, but ends with "details".',
        "keeps parallel calls apart": 'The stream must end with its "finish" chunk, but ends with "details".',
        "accepts tool results in the next request": 'The stream must end with its "finish" chunk, but ends with "details".',
        "leaves no listener on the signal after a finished stream":
          'The stream must end with its "finish" chunk, but ends with "details".',
      },
    ],
    [
      'sends tool calls with the finish reason "stop"',
      mapping((chunk) => [chunk.type === "finish" ? { type: "finish", reason: "stop" } : chunk]),
      {
        "sends a complete tool call with parsed arguments": 'The finish reason must be "tool-calls", but is "stop".',
        "keeps parallel calls apart": 'The finish reason must be "tool-calls", but is "stop".',
      },
    ],
    [
      "breaks non-ASCII characters",
      mapping((chunk) => [chunk.type === "text-delta" ? { ...chunk, text: chunk.text.replace("ü", "Ã¼") } : chunk]),
      {
        "streams text and ends with exactly one finish chunk":
          'The text must be "Grüße aus Tromsø, 你好!", but is "GrÃ¼ße aus Tromsø, 你好!".',
      },
    ],
    [
      "does not parse arguments",
      mapping((chunk) => [chunk.type === "call-ready" ? { ...chunk, args: chunk.argsText } : chunk]),
      {
        "sends a complete tool call with parsed arguments": expect.stringContaining(
          'The calls in the "call-ready" chunks must be',
        ),
        "keeps parallel calls apart": expect.stringContaining('The calls in the "call-ready" chunks must be'),
        "accepts tool results in the next request": expect.stringContaining('The calls in the "call-ready" chunks must be'),
      },
    ],
    [
      "mixes the fragments of parallel calls",
      mapping((chunk) =>
        ["call-start", "call-args-delta"].includes(chunk.type) && "key" in chunk ? [{ ...chunk, key: "call-0" }] : [chunk],
      ),
      {
        "keeps parallel calls apart":
          'The streamed arguments of a call must be {"city":"Oslo"}, but are {"city":"Oslo"}{"city":"Bergen"}.',
        "accepts tool results in the next request":
          'The streamed arguments of a call must be {"city":"Oslo"}, but are {"city":"Oslo"}{"city":"Bergen"}.',
      },
    ],
    [
      "gives two calls the same key",
      mapping((chunk) => [chunk.type === "call-ready" ? { ...chunk, key: "call-0" } : chunk]),
      {
        "keeps parallel calls apart": "The calls of a message must have different keys, but have call-0, call-0.",
        "accepts tool results in the next request": "The calls of a message must have different keys, but have call-0, call-0.",
      },
    ],
    [
      "marks complete calls as truncated",
      mapping((chunk) => [chunk.type === "call-ready" ? { ...chunk, problem: "truncated" } : chunk]),
      {
        "sends a complete tool call with parsed arguments":
          'A call with complete arguments must have no problem, but has the problem "truncated".',
        "keeps parallel calls apart": 'A call with complete arguments must have no problem, but has the problem "truncated".',
        "accepts tool results in the next request":
          'A call with complete arguments must have no problem, but has the problem "truncated".',
      },
    ],
    [
      "gives two calls the same id",
      mapping((chunk) => [chunk.type === "call-ready" ? { ...chunk, id: "same" } : chunk]),
      {
        "keeps parallel calls apart": "The calls of a message must have different ids, but have same, same.",
        "accepts tool results in the next request": "The calls of a message must have different ids, but have same, same.",
      },
    ],
    [
      "reports no usage",
      mapping((chunk) => (chunk.type === "usage" ? [] : [chunk])),
      { "reports usage": 'The stream has no "usage" chunk.' },
    ],
    [
      "reports a wrong token total",
      mapping((chunk) => [chunk.type === "usage" ? { ...chunk, usage: { ...chunk.usage, totalTokens: 50 } } : chunk]),
      {
        "reports usage":
          'The usage must be {"inputTokens":40,"outputTokens":9,"totalTokens":49}, but is {"inputTokens":40,"outputTokens":9,"totalTokens":50}.',
      },
    ],
    [
      "holds back its text until the end",
      (stream) =>
        async function* (request, call) {
          const chunks: ModelChunk[] = [];
          for await (const chunk of stream(request, call)) chunks.push(chunk);
          yield* chunks;
        },
      {
        "passes text on while the stream is open":
          "The service sent text and kept the connection open, but the provider passed no text on within 1000 ms.",
        "ends the stream soon after the signal fires":
          "The service sent text and kept the connection open, but the provider passed no text on within 1000 ms.",
        "ends the stream soon after the reader stops":
          "The service sent text and kept the connection open, but the provider passed no text on within 1000 ms.",
      },
    ],
    [
      "ends its stream when the service is silent",
      (stream) => (request, call) => {
        const isSilent = request.messages[0]?.role === "user" && request.messages[0].content === providerScenarios.silence.prompt;
        return isSilent ? (async function* (): AsyncGenerator<ModelChunk> {})() : stream(request, call);
      },
      {
        "passes text on while the stream is open": "The stream ended although the service keeps the connection open.",
        "ends the stream soon after the signal fires": "The stream ended although the service keeps the connection open.",
        "ends the stream soon after the reader stops": "The stream ended although the service keeps the connection open.",
      },
    ],
    [
      "ignores its signal",
      (stream) => (request, call) => stream(request, { ...call, signal: never }),
      {
        "ends the stream soon after the signal fires": "After the signal fired, the stream did not end within 1000 ms.",
        "ends the stream soon if the signal has already fired":
          "The signal had already fired, but the stream did not end within 1000 ms.",
      },
    ],
    [
      "yields a finish after an abort",
      (stream) =>
        async function* (request, call) {
          try {
            yield* stream(request, call);
          } catch (error) {
            if (!call.signal.aborted) throw error;
            yield { type: "finish", reason: "stop" };
          }
        },
      {
        "ends the stream soon after the signal fires":
          'The stream must not have a "finish" chunk, because the model did not finish.',
        "ends the stream soon if the signal has already fired":
          'The stream must not have a "finish" chunk, because the model did not finish.',
      },
    ],
    [
      "does not end when its reader stops",
      (stream) => (request, call) => {
        const iterator = stream(request, call)[Symbol.asyncIterator]();
        return { [Symbol.asyncIterator]: () => ({ next: () => iterator.next(), return: () => new Promise<never>(() => {}) }) };
      },
      { "ends the stream soon after the reader stops": "After its reader stopped, the stream did not end within 1000 ms." },
    ],
    [
      "leaves a listener on the signal",
      (stream) => (request, call) => {
        call.signal.addEventListener("abort", () => {}, { once: true });
        return stream(request, call);
      },
      {
        "leaves no listener on the signal after a finished stream":
          "The finished stream left 1 listener(s) on the signal. Remove them all.",
      },
    ],
    [
      "yields a finish when the connection closes early",
      (stream) =>
        async function* (request, call) {
          let finished = false;
          for await (const chunk of stream(request, call)) {
            finished = chunk.type === "finish";
            yield chunk;
          }
          if (!finished) yield { type: "finish", reason: "stop" };
        },
      {
        "sends no finish chunk if the connection closes early":
          'The stream must not have a "finish" chunk, because the model did not finish.',
      },
    ],
    [
      "hides failures",
      (stream) =>
        async function* (request, call) {
          try {
            yield* stream(request, call);
          } catch {
            // The fault: the provider drops the error.
          }
        },
      Object.fromEntries(
        ['reports a rejected key as "auth"', 'reports a rate limit as "rate-limit"', 'reports a server failure as "server"'].map(
          (title) => [title, "The service rejected the request, but the provider neither threw nor sent an error chunk."],
        ),
      ),
    ],
    [
      "sends only the first of several tool results",
      (stream) => (request, call) => {
        const answered = request.messages.find((message) => message.role === "tool");
        if (answered !== undefined && answered.results.length > 1) throw new Error("unanswered call");
        return stream(request, call);
      },
      { "accepts tool results in the next request": "The stream failed: unanswered call" },
    ],
    [
      "changes the request",
      (stream) => (request, call) => {
        Object.assign(request.messages[0] ?? {}, { cached: true });
        return stream(request, call);
      },
      { "does not change the request": expect.stringContaining("The provider changed the request from") },
    ],
  ])("finds exactly the expected faults in a provider that %s", async ([, breakStream, complaints]) => {
    expect(await complaintsOf(broken(breakStream))).toEqual(complaints);
  });
});
