import { describe, expect, it } from "vitest";
import { EventFilter } from "./event-filter.ts";

const encoder = new TextEncoder();

function filter(pieces: readonly string[]): string {
  const filtering = new EventFilter();
  const kept = [...pieces.flatMap((piece) => filtering.take(encoder.encode(piece))), ...filtering.end()];
  return new TextDecoder("utf-8", { ignoreBOM: true }).decode(Buffer.concat(kept));
}

const event = 'event: message\nid: 1\ndata: {"text":"Grüße :)"}\n\n';

describe("EventFilter", () => {
  it.for<[name: string, removed: string]>([
    ["an empty data field", "data:\n\n"],
    ["a blank data field", "data: \t\n\n"],
    ["only an event name", "event: ping\n\n"],
    ["an event name and an empty data field", "event: ping\ndata:\n\n"],
    ["only an id", "id: 7\n\n"],
    ["only a field name", "data\n\n"],
    ["a comment", ": keepalive\n\n"],
    ["a comment in the data field", "data: : OPENROUTER PROCESSING\n\n"],
    ["blank lines", "\n\n\n"],
    ["lines that end with CRLF", "event: ping\r\ndata: \r\n\r\n"],
  ])("removes an event with %s, however the stream is split", ([, removed]) => {
    const stream = `${removed}${event}${removed}${removed}${event}data: [DONE]\n\n${removed}`;
    const expected = `${event}${event}data: [DONE]\n\n`;
    expect(filter([stream])).toBe(expected);
    expect(filter(stream.split(""))).toBe(expected);
    for (let size = 2; size < 40; size += 1) expect(filter(stream.match(new RegExp(`.{1,${size}}`, "gs")) ?? [])).toBe(expected);
  });

  it.for<[name: string, stream: string]>([
    ["events with data", event + event],
    ["events with lines that end with CRLF", event.replaceAll("\n", "\r\n") + event.replaceAll("\n", "\r\n")],
    ["lines that end with CR", event.replaceAll("\n", "\r")],
    ["data in several lines", 'data: {"a":\ndata:\ndata: 1}\n\n'],
    ["data without a space, and with many spaces", `data:{"a":1}\n\ndata:${" ".repeat(50)}{"a":1}\n\n`],
    ["an event whose last line is unterminated", "data: [DONE]"],
    ["an event without data whose last line is unterminated", "event: ping"],
    ["a line that is not a field", '{"error":"busy"}\n\n'],
    ["a byte order mark", `\uFEFF${event}`],
    ["a long event without data", `: ${"x".repeat(5_000)}\n\n`],
  ])("keeps %s", ([, stream]) => {
    expect(filter([stream])).toBe(stream);
    expect(filter(stream.split(""))).toBe(stream);
  });

  it("passes data on as soon as it arrives", () => {
    const filtering = new EventFilter();
    const take = (text: string): string => new TextDecoder().decode(Buffer.concat(filtering.take(encoder.encode(text))));
    expect(["event: a\n", "data: ", '{"a"', ":1}", "\n", "\n", "data:", "\n\n"].map(take)).toEqual([
      "",
      "",
      'event: a\ndata: {"a"',
      ":1}",
      "\n",
      "\n",
      "",
      "",
    ]);
  });
});
