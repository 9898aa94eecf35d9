import { once } from "node:events";
import type { Provider } from "turnwright";
import { aiSdkModel } from "turnwright/ai-sdk";
import { type PackageWire, packageWires } from "./ai-sdk-client.ts";
import { endsOf, toSpecStream } from "./ai-sdk-script.ts";
import { type Spec, specs } from "./ai-sdk-specs.ts";
import { chat } from "./chat-script.ts";
import { generate } from "./generate-script.ts";
import { messages } from "./messages-script.ts";
import { packageEnds } from "./package-ends.ts";
import { startRawServer } from "./raw-sse-server.ts";
import { responses } from "./responses-script.ts";
import type { Ends, Scripted } from "./scripted.ts";
import type { Connecting, Wire } from "./wire.ts";

interface Opened {
  readonly provider: Provider;
  readonly bodies: readonly unknown[];
  /** Resolves when the provider closes a connection that the server keeps open. */
  readonly left: Promise<void>;
  close(): Promise<void>;
}

export interface Adapter {
  readonly name: string;
  /** The specification version of the AI SDK model. Empty for other adapters. */
  readonly variant: string;
  readonly factory: "openaiChat" | "openaiResponses" | "anthropicMessages" | "googleGenerateContent" | "aiSdkModel";
  readonly ends: Ends;
  open(script: readonly Scripted[], connecting?: Connecting): Promise<Opened>;
}

async function openWire(
  script: readonly Scripted[],
  wire: Pick<Wire, "toReply">,
  connect: (url: string) => Provider,
): Promise<Opened> {
  const { url, bodies, left, close } = await startRawServer(script.map((scripted) => wire.toReply(scripted)));
  return { provider: connect(url), bodies, left, close };
}

function overWire(factory: Adapter["factory"], wire: Wire): Adapter {
  return {
    name: factory,
    variant: "",
    factory,
    ends: wire.ends,
    open: (script, connecting) => openWire(script, wire, (url) => wire.connect(url, connecting).provider),
  };
}

function overPackage({ name, version, api, connect }: PackageWire): Adapter {
  const wire = { chat, responses, messages, generate }[api];
  return {
    name: `aiSdkModel (${name})`,
    variant: version,
    factory: "aiSdkModel",
    ends: packageEnds(version)[api],
    open: (script, { options } = {}) => openWire(script, wire, (url) => aiSdkModel({ model: connect(url).model, ...options })),
  };
}

async function untilAborted(signal: AbortSignal | undefined): Promise<void> {
  if (signal?.aborted === false) await once(signal, "abort");
}

function overSpec(spec: Spec): Adapter {
  return {
    name: `aiSdkModel (mock model, spec ${spec.version})`,
    variant: spec.version,
    factory: "aiSdkModel",
    ends: endsOf(spec),
    async open(script, { options } = {}) {
      const supportedUrls = { "*/*": [/^https:/] };
      const streams = script.map((scripted) => toSpecStream(scripted, spec));
      const { model, calls } = spec.create(streams, { supportedUrls });
      return {
        provider: aiSdkModel({ model, ...options }),
        bodies: calls,
        get left() {
          return untilAborted(calls.at(-1)?.abortSignal);
        },
        close: async () => undefined,
      };
    },
  };
}

export const vendorAdapters: readonly Adapter[] = [
  overWire("openaiChat", chat),
  overWire("openaiResponses", responses),
  overWire("anthropicMessages", messages),
  overWire("googleGenerateContent", generate),
];

export const specAdapters: readonly Adapter[] = specs.map(overSpec);

const packageAdapters: readonly Adapter[] = packageWires.map(overPackage);

export const adapters: readonly Adapter[] = [...vendorAdapters, ...specAdapters, ...packageAdapters];
