import { defineTool, runToolLoop, toolResult, type JsonSchema, type LoopOptions, type LoopResult } from "turnwright";
import { googleGenerateContent, type GoogleGenerateContentOptions } from "turnwright/google";
import { expect, onTestFinished } from "vitest";
import { checkGenerateContract } from "./generate-contract.ts";
import { connectGoogle } from "./google-client.ts";
import { callPart, stop, text } from "./google-frames.ts";
import { startRawServer, type RawReply } from "./raw-sse-server.ts";

interface Body {
  readonly contents: readonly { readonly role: string; readonly parts: readonly { readonly [field: string]: unknown }[] }[];
  readonly [field: string]: unknown;
}

export interface Played {
  readonly result: LoopResult;
  readonly bodies: readonly Body[];
  readonly again: (options: Partial<LoopOptions>) => Promise<LoopResult>;
}

export const image: { readonly type: "image"; readonly mediaType: string; readonly data: string } = {
  type: "image",
  mediaType: "image/png",
  data: "iVBORw0KGgo=",
};
export const inputSchema: JsonSchema = { type: "object", properties: { city: { type: "string" } } };
const weather = defineTool({
  name: "get_weather",
  description: "Weather of a city",
  inputSchema,
  execute: () => ({ celsius: 3 }),
});
const look = defineTool({
  name: "look",
  description: "Shows something",
  inputSchema,
  execute: () =>
    toolResult({
      success: true,
      data: "seen",
      content: [{ type: "text", text: "A map." }, image, { type: "file", mediaType: "audio/wav", data: "UklGRg==" }],
    }),
});

export async function play(
  replies: readonly RawReply[],
  more: Partial<LoopOptions> = {},
  { vertexai = false, ...settings }: Partial<GoogleGenerateContentOptions> & { readonly vertexai?: boolean } = {},
): Promise<Played> {
  const server = await startRawServer(replies);
  onTestFinished(() => server.close());
  const { client, bodies } = connectGoogle(server.url, { vertexai });
  const provider = googleGenerateContent({ client, model: "gemini-3-pro-preview", ...settings });
  const again = async (options: Partial<LoopOptions>): Promise<LoopResult> => {
    const result = await runToolLoop({
      provider,
      tools: [weather, look],
      messages: [{ role: "user", content: "Oslo?" }],
      ...options,
    });
    const signed = !/gemini-2/.test(provider.model);
    expect(bodies.map((body) => checkGenerateContract(body, { signed }))).toEqual(bodies.map(() => []));
    return result;
  };
  const result = await again(more);
  return {
    result,
    again,
    get bodies() {
      return bodies as readonly Body[];
    },
  };
}

export const answer: RawReply = { frames: [text("Mild."), stop()] };
export const oslo: object = { city: "Oslo" };
export const question: object = { role: "user", parts: [{ text: "Oslo?" }] };
export const call = (id = ""): object => callPart(id, "get_weather", oslo);
export const output = (id = ""): object => ({
  functionResponse: { ...(id === "" ? {} : { id }), name: "get_weather", response: { output: { celsius: 3 } } },
});
/** Gemini accepts this `thoughtSignature` for a call that Gemini did not sign. */
export const placeholder: string = "skip_thought_signature_validator";
