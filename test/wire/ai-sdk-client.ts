// The real OpenAI package of each AI SDK generation, pointed at a local server, with every request body that leaves it kept.

import { createOpenAI as createV4 } from "@ai-sdk/openai";
import { createOpenAI as createV2 } from "ai-sdk-openai-v2";
import { createOpenAI as createV3 } from "ai-sdk-openai-v3";
import type { AiSdkLanguageModel } from "turnwright/ai-sdk";
import { createWireFetch } from "./wire-fetch.ts";

/** Models of one server, and what was sent to it. */
interface WireModels {
  readonly chat: AiSdkLanguageModel;
  readonly responses: AiSdkLanguageModel;
  readonly bodies: readonly unknown[];
}

/** One generation of the package. */
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

/** All of them, oldest first. */
export const generations: readonly Generation[] = [
  generation("v2", createV2),
  generation("v3", createV3),
  generation("v4", createV4),
];
