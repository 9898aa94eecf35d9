import type { ModelChunk, ModelRequest, Provider, UserMessage } from "turnwright";
import { aiSdkModel, type AiSdkModelOptions } from "turnwright/ai-sdk";
import type { Spec, SpecModel, SpecMock, SpecStream } from "./ai-sdk-specs.ts";
import { ask, createCall, runIteration } from "./provider-iteration.ts";

const images: SpecModel = { supportedUrls: { "image/*": [/^https:\/\/pics\.test\/.*$/] } };

interface Bench {
  readonly provider: Provider;
  readonly calls: readonly object[];
  send(request: Partial<ModelRequest>): Promise<object>;
}

export function createBench(spec: Spec, options: Partial<AiSdkModelOptions> = {}, facts: SpecModel = images): Bench {
  const stream: SpecStream = { parts: [spec.finish("stop")] };
  const mock: SpecMock = spec.create([stream, stream, stream], facts);
  const provider = aiSdkModel({ model: mock.model, ...options });
  return {
    provider,
    calls: mock.calls,
    async send(request) {
      const { error } = await runIteration(provider, ask("Hi", request));
      if (error !== undefined) throw Object.assign(new Error(error.message), error);
      return mock.calls.at(-1) ?? {};
    },
  };
}

export const user = (content: UserMessage["content"]): UserMessage => ({ role: "user", content });

const tool = { name: "search", description: "Searches", inputSchema: { type: "object" } };

export interface Heard {
  readonly chunks: readonly ModelChunk[];
  readonly thrown: unknown;
}

export async function hear(spec: Spec, stream: SpecStream, options: Partial<AiSdkModelOptions> = {}): Promise<Heard> {
  const { model } = spec.create([stream]);
  const chunks: ModelChunk[] = [];
  try {
    const provider = aiSdkModel({ model, ...options });
    for await (const chunk of provider.stream(ask("Hi", { tools: [tool] }), createCall())) chunks.push(chunk);
  } catch (thrown) {
    return { chunks, thrown };
  }
  return { chunks, thrown: undefined };
}

export const partsOf = ({ chunks }: Heard): readonly unknown[] =>
  chunks.flatMap((chunk) => (chunk.type === "provider-metadata" ? [chunk.item] : []));
export const typesOf = ({ chunks }: Heard): readonly string[] => chunks.map(({ type }) => type);
