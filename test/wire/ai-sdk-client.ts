import { createAnthropic } from "@ai-sdk/anthropic";
import { createGoogle } from "@ai-sdk/google";
import { createOpenAI as createV4 } from "@ai-sdk/openai";
import { createOpenAI as createV2 } from "ai-sdk-openai-v2";
import { createOpenAI as createV3 } from "ai-sdk-openai-v3";
import type { AiSdkLanguageModel } from "turnwright/ai-sdk";
import { createWireFetch } from "./wire-fetch.ts";

interface WireModels {
  readonly chat: AiSdkLanguageModel;
  readonly responses: AiSdkLanguageModel;
  readonly bodies: readonly unknown[];
}

export interface Generation {
  readonly version: AiSdkLanguageModel["specificationVersion"];
  connect(baseURL: string, pieceBytes?: number): WireModels;
}

type Create = typeof createV2 | typeof createV3 | typeof createV4;

function generation(version: Generation["version"], create: Create): Generation {
  return {
    version,
    connect(baseURL, pieceBytes) {
      const { fetch, bodies } = createWireFetch(pieceBytes);
      const openai = create({ baseURL, apiKey: "test", fetch });
      return { chat: openai.chat("gpt-4.1"), responses: openai.responses("gpt-5"), bodies };
    },
  };
}

/** One release of `@ai-sdk/openai` for each specification version of the AI SDK, oldest first. */
export const generations: readonly Generation[] = [
  generation("v2", createV2),
  generation("v3", createV3),
  generation("v4", createV4),
];

export interface PackageWire {
  readonly name: string;
  readonly version: Generation["version"];
  readonly api: "chat" | "responses" | "messages" | "generate";
  connect(baseURL: string, pieceBytes?: number): { readonly model: AiSdkLanguageModel; readonly bodies: readonly unknown[] };
}

const openaiWires = generations.flatMap(({ version, connect }) =>
  (["chat", "responses"] as const).map((api): PackageWire => ({
    name: `@ai-sdk/openai, spec ${version}, ${api}`,
    version,
    api,
    connect(baseURL, pieceBytes) {
      const models = connect(baseURL, pieceBytes);
      return { model: models[api], bodies: models.bodies };
    },
  })),
);

export const packageWires: readonly PackageWire[] = [
  ...openaiWires,
  {
    name: "@ai-sdk/anthropic, spec v4",
    version: "v4",
    api: "messages",
    connect(baseURL, pieceBytes) {
      const { fetch, bodies } = createWireFetch(pieceBytes);
      return { model: createAnthropic({ baseURL, apiKey: "test", fetch })("claude-sonnet-4-6"), bodies };
    },
  },
  {
    name: "@ai-sdk/google, spec v4",
    version: "v4",
    api: "generate",
    connect(baseURL, pieceBytes) {
      const { fetch, bodies } = createWireFetch(pieceBytes);
      return { model: createGoogle({ baseURL, apiKey: "test", fetch })("gemini-3-pro-preview"), bodies };
    },
  },
];
