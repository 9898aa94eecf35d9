import type { Provider } from "turnwright";
import { aiSdkModel } from "turnwright/ai-sdk";
import { onTestFinished } from "vitest";
import { callParts, type Spec, specs, textParts } from "./ai-sdk-specs.ts";
import { type Scripted, wires } from "./all-wires.ts";
import type { MediaOutcome, MediaRow, MediaSender, MediaWire } from "./media-cells.ts";
import { outcomeOf } from "./media-cells.ts";
import { startRawServer } from "./raw-sse-server.ts";

interface Started {
  readonly provider: Provider;
  readonly bodies: readonly unknown[];
}

export interface Player {
  readonly name: string;
  start(script: readonly Scripted[]): Promise<Started>;
  check(body: unknown): readonly string[];
  expect(row: MediaRow, from: MediaSender): MediaOutcome;
}

const overServers: readonly Player[] = wires.map((wire) => ({
  name: wire.name,
  async start(script) {
    const server = await startRawServer(script.map((scripted) => wire.toReply(scripted)));
    onTestFinished(() => server.close());
    return wire.connect(server.url);
  },
  check: wire.check,
  expect: (row, from) => outcomeOf(row, wire.name, from),
}));

const aiSdk: MediaWire = "ai-sdk";
const urls: { readonly supportedUrls: Record<string, RegExp[]> } = {
  supportedUrls: { "image/*": [/^https:\/\/.*$/], "application/pdf": [/^https:\/\/.*$/] },
};

function toStream(spec: Spec, scripted: Scripted): { readonly parts: readonly object[] } {
  if (!("end" in scripted)) return { parts: [] };
  const { text, calls = [], end } = scripted;
  return {
    parts: [
      ...(text === undefined ? [] : textParts([text])),
      ...calls.flatMap(([id, name, args]) => callParts(id, [name, args])),
      spec.finish(end === "tools" ? "tool-calls" : "stop", { raw: end }),
    ],
  };
}

const overModels: readonly Player[] = specs.map((spec) => ({
  name: `${aiSdk}, spec ${spec.version}`,
  async start(script) {
    const { model, calls } = spec.create(
      script.map((scripted) => toStream(spec, scripted)),
      urls,
    );
    return { provider: aiSdkModel({ model }), bodies: calls };
  },
  check: () => [],
  // In specification v2, tool results cannot contain URLs.
  expect: (row, from) =>
    spec.version === "v2" && from === "tool" && row.kind.endsWith("https: URL") ? "told" : outcomeOf(row, aiSdk, from),
}));

export const players: readonly Player[] = [...overServers, ...overModels];
