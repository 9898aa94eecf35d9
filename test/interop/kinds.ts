// The same tool, created with each library that `importTool` supports.

import { tool as agentsTool } from "@openai/agents-core";
import { betaTool } from "@anthropic-ai/sdk/helpers/beta/json-schema";
import { betaZodTool } from "@anthropic-ai/sdk/helpers/beta/zod";
import { tool as langChainTool } from "@langchain/core/tools";
import { jsonSchema, tool as aiTool } from "ai";
import { tool as aiToolV5 } from "ai-v5";
import { tool as aiToolV7 } from "ai-v7";
import { z } from "zod";

export interface Work {
  readonly name: string;
  readonly description: string;
  run(args: Readonly<Record<string, unknown>>, signal: AbortSignal | undefined): unknown;
}

const schema = z.object({ text: z.string() });

const json = {
  type: "object",
  properties: { text: { type: "string" } },
  required: ["text"],
  additionalProperties: false,
} as const;

type Args = Readonly<Record<string, unknown>>;

export type MakeTool = (work: Work, inputSchema?: z.ZodObject) => object;

/** For each library, a function that creates a tool whose arguments zod validates. AI SDK tools have no name. */
export const kinds: Readonly<Record<string, MakeTool>> = {
  "AI SDK 6": ({ description, run }, inputSchema = schema) =>
    aiTool({ description, inputSchema, execute: async (args: Args, { abortSignal }) => run(args, abortSignal) }),
  "AI SDK 5": ({ description, run }, inputSchema = schema) =>
    aiToolV5({ description, inputSchema, execute: async (args: Args, { abortSignal }) => run(args, abortSignal) }),
  "AI SDK 7": ({ description, run }, inputSchema = schema) =>
    aiToolV7({ description, inputSchema, execute: async (args: Args, { abortSignal }) => run(args, abortSignal) }),
  "OpenAI Agents": ({ name, description, run }, parameters = schema) =>
    agentsTool({
      name,
      description,
      parameters,
      errorFunction: null,
      execute: async (args, _, details) => run(args, details?.signal),
    }),
  Anthropic: ({ name, description, run }, inputSchema = schema) =>
    betaZodTool({
      name,
      description,
      inputSchema,
      run: async (args, context) => JSON.stringify(await run(args, context?.signal ?? undefined)),
    }),
  LangChain: ({ name, description, run }, inputSchema = schema) =>
    langChainTool(async (args: Args, { signal }: { signal?: AbortSignal }) => run(args, signal), {
      name,
      description,
      schema: inputSchema,
    }),
};

/** For each library, a function that creates a tool with plain JSON Schema, which validates nothing. */
export const plainKinds: Readonly<Record<string, (work: Work) => object>> = {
  "AI SDK 6": ({ description, run }) =>
    aiTool({
      description,
      inputSchema: jsonSchema<Args>(json),
      execute: async (args, { abortSignal }) => run(args, abortSignal),
    }),
  "OpenAI Agents": ({ name, description, run }) =>
    agentsTool({
      name,
      description,
      parameters: { ...json, required: ["text"] },
      strict: true,
      errorFunction: null,
      execute: async (args, _, details) => run(args as Args, details?.signal),
    }),
  Anthropic: ({ name, description, run }) =>
    betaTool({
      name,
      description,
      inputSchema: json,
      run: async (args, context) => JSON.stringify(await run(args, context?.signal ?? undefined)),
    }),
  LangChain: ({ name, description, run }) =>
    langChainTool(async (args: unknown, { signal }: { signal?: AbortSignal }) => run(args as Args, signal), {
      name,
      description,
      schema: json,
    }),
};
