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

/** Recorded streams that a package reads differently from the SDK of the vendor, with the data that the package reads. */
const exceptions: ReadonlyMap<string, Partial<ReturnType<typeof factsOf>>> = new Map([
  // Mistral's calls have no index, and the package rejects such calls.
  ["mistral-tool-call, chat", { calls: [], inputTokens: undefined, end: "server" }],
  // The package reads text only from delta events. Most texts in this stream arrived without deltas.
  ["openai-phase.1, responses", { text: "Got itHere are a few **AI" }],
  // The package of specification v2 ignores calls of custom tools.
  ["openai-custom-tool.1, responses, v2", { calls: [], end: "stop" }],
  ["openai-custom-tool.1, responses", { calls: [sql] }],
]);

/** Leaves out the data in which packages differ: ids, blank lines between messages, and token counts of 0. */
function factsOf({ text, calls, usage, finish, error }: Iteration) {
  return {
    text: text.replaceAll("\n\n", ""),
    calls: calls.map(({ name, args, problem }) => ({ name, args, problem })),
    inputTokens: usage?.inputTokens,
    end: error?.code ?? finish,
  };
}

/** Matches the event that ends a response. If a file contains several responses, only the first one is read. */
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

/** Several packages are compared with the same result of the vendor's SDK, so that result is cached. */
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
  describe.for(streams)(`aiSdkModel (${name}): recorded stream %s`, ([recorded, index]) => {
    it.for(pieceSizesOf(index, [7, 61, 997], row))(
      "gives the same text, calls and usage as the vendor's SDK if the stream arrives in %i-byte pieces",
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

it("recorded streams: each API's folder contains at least one stream or is absent", () => {
  const counts = Object.values(wires).map(({ folder }) => hasRecorded(folder) === listRecorded(folder).length > 0);
  expect(counts).toEqual([true, true, true, true]);
});
