// Recorded streams of all APIs through real packages of the AI SDK, cut at any position. Each package gives the same iteration
// as the vendor's SDK.

import { describe, expect, it } from "vitest";
import { aiSdkModel } from "turnwright/ai-sdk";
import { packageWires, type PackageWire } from "./ai-sdk-client.ts";
import { event } from "./anthropic-frames.ts";
import { chat } from "./chat-script.ts";
import { generate } from "./generate-script.ts";
import { chunk } from "./google-frames.ts";
import { messages } from "./messages-script.ts";
import type { Iteration } from "./provider-iteration.ts";
import { done, sse } from "./raw-sse-server.ts";
import { hasRecorded, listRecorded, pieceSizesOf, readBody, readRecorded } from "./recorded-streams.ts";
import { responses } from "./responses-script.ts";

const wires = {
  chat: { folder: "openai-chat", wire: chat },
  responses: { folder: "openai-responses", wire: responses },
  messages: { folder: "anthropic-messages", wire: messages },
  generate: { folder: "google-generate-content", wire: generate },
} as const;

const sql = { name: "write_sql", args: "SELECT * FROM users WHERE age > 25", problem: undefined };

/** Streams that the packages read differently from the vendor's SDK. */
const exceptions: ReadonlyMap<string, Partial<ReturnType<typeof factsOf>>> = new Map([
  // OpenAI always sends the index of a call. The package rejects calls without an index.
  ["mistral-tool-call, chat", { calls: [], inputTokens: undefined, end: "server" }],
  // The package reads only the pieces of a text, and most texts in this stream arrived whole.
  ["openai-phase.1, responses", { text: "Got itHere are a few **AI" }],
  // The argument of a custom tool is the text itself. v2 has no such tools.
  ["openai-custom-tool.1, responses, v2", { calls: [], end: "stop" }],
  ["openai-custom-tool.1, responses", { calls: [sql] }],
]);

/** The facts on which all packages must agree. Ids, blank lines between messages, and counts of 0 differ. */
function factsOf({ text, calls, usage, finish, error }: Iteration) {
  return {
    text: text.replaceAll("\n\n", ""),
    calls: calls.map(({ name, args, problem }) => ({ name, args, problem })),
    inputTokens: usage?.inputTokens,
    end: error?.code ?? finish,
  };
}

/** Matches the last event of a stream. All further events in a file belong to another stream. */
const ends = /^(?:response\.(?:completed|incomplete|failed)|message_stop)$/;

function toBody(api: PackageWire["api"], name: string): string {
  const lines = readRecorded(wires[api].folder, name);
  if (api === "chat") return [...lines.map(sse), done].join("");
  const events = lines.map((line): { readonly type: string } => JSON.parse(line));
  if (api === "generate") return events.map(chunk).join("");
  const last = events.findIndex(({ type }) => ends.test(type));
  return events
    .slice(0, last === -1 ? undefined : last + 1)
    .map(event)
    .join("");
}

/** A cache, because each stream is read once by the vendor's SDK. */
const factsOfVendor = new Map<string, Promise<ReturnType<typeof factsOf>>>();
function readVendor(api: PackageWire["api"], recorded: string): Promise<ReturnType<typeof factsOf>> {
  const key = `${recorded}, ${api}`;
  const read =
    factsOfVendor.get(key) ??
    readBody(toBody(api, recorded), (url) => wires[api].wire.connect(url).provider).then(({ iteration }) => factsOf(iteration));
  factsOfVendor.set(key, read);
  return read;
}

for (const [row, { name, api, version, connect }] of packageWires.entries()) {
  const streams = listRecorded(wires[api].folder).map((recorded, index) => [recorded, index] as const);
  describe.for(streams)(`aiSdkModel over ${name}: recorded stream %s`, ([recorded, index]) => {
    it.for(pieceSizesOf(index, [7, 61, 997], row))(
      "gives the same data as the vendor's SDK in pieces of %i bytes",
      async (pieceBytes) => {
        const { iteration } = await readBody(toBody(api, recorded), (url) =>
          aiSdkModel({ model: connect(url, pieceBytes).model }),
        );
        const exception = exceptions.get(`${recorded}, ${api}, ${version}`) ?? exceptions.get(`${recorded}, ${api}`);
        expect(factsOf(iteration)).toEqual({ ...(await readVendor(api, recorded)), ...exception });
      },
    );
  });
}

it("recorded streams: every existing folder contains at least one stream", () => {
  const counts = Object.values(wires).map(({ folder }) => hasRecorded(folder) === listRecorded(folder).length > 0);
  expect(counts).toEqual([true, true, true, true]);
});
