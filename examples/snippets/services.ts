// Models of services with OpenAI's API, their prices, and the settings of a run.

import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import Anthropic from "@anthropic-ai/sdk";
import { GoogleGenAI } from "@google/genai";
import OpenAI, { AzureOpenAI } from "openai";
import { type Message, type Provider, runToolLoop } from "turnwright";
import { anthropicMessages } from "turnwright/anthropic";
import { googleGenerateContent } from "turnwright/google";
import { openaiChat } from "turnwright/openai";
import { genaiPrices } from "turnwright/prices";
import { strictService } from "turnwright/testing";

delete process.env["OPENAI_BASE_URL"]; // other snippets set it for their server; AzureOpenAI refuses it together with an endpoint
const endpoint = "https://example.openai.azure.com";
Object.assign(process.env, { OPENROUTER_API_KEY: "k", DEEPSEEK_API_KEY: "k", AZURE_OPENAI_API_KEY: "k" });
Object.assign(process.env, { AZURE_OPENAI_ENDPOINT: endpoint, OPENAI_API_VERSION: "2024-10-21" });
const messages: readonly Message[] = [{ role: "user", content: "Is it late in Tokyo?" }];

// #region services
const openRouter = openaiChat({
  client: new OpenAI({ baseURL: "https://openrouter.ai/api/v1", apiKey: process.env["OPENROUTER_API_KEY"] }),
  model: "deepseek/deepseek-chat",
  id: "openrouter", // names its usage and prices, by default "openai"
});
const deepSeek = openaiChat({
  client: new OpenAI({ baseURL: "https://api.deepseek.com", apiKey: process.env["DEEPSEEK_API_KEY"] }),
  model: "deepseek-chat",
  id: "deepseek",
});
const azure = openaiChat({
  client: new AzureOpenAI(), // reads AZURE_OPENAI_ENDPOINT, AZURE_OPENAI_API_KEY and OPENAI_API_VERSION
  model: "my-deployment",
  id: "azure",
});
const pricing = genaiPrices({ provider: "openai", model: "gpt-5-mini" }); // for Azure: a deployment of your own name has no price
// #endregion services

const tokens = { inputTokens: 1_000, outputTokens: 1_000, totalTokens: 2_000 };
const priceOf = ({ id, model }: Provider): number | undefined => genaiPrices()(tokens, { provider: id, model });
assert.ok([openRouter, deepSeek].every((provider) => priceOf(provider) !== undefined));
assert.equal(priceOf(azure), undefined);
assert.equal(pricing(tokens, { provider: "azure", model: "my-deployment" })?.toFixed(5), "0.00225");

{
  const service = strictService("openai-chat");
  const { fetch } = globalThis;
  globalThis.fetch = service.fetch;
  process.env["OPENAI_API_KEY"] = "not-a-key";
  // #region settings
  const provider = openaiChat({ client: new OpenAI(), model: "gpt-4.1" }); // reads OPENAI_API_KEY from the environment
  const result = await runToolLoop({ provider, messages, modelSettings: { maxOutputTokens: 500, temperature: 0.2 } });
  // #endregion settings
  globalThis.fetch = fetch;
  assert.deepEqual([result.text, service.refusals], ["ok", []]);
}

for (const kind of ["openrouter", "deepseek", "azure"] as const) {
  const { fetch, requests, refusals } = strictService(kind);
  const clients = {
    openrouter: { client: new OpenAI({ baseURL: "https://openrouter.ai/api/v1", apiKey: "k", fetch }), model: openRouter.model },
    deepseek: { client: new OpenAI({ baseURL: "https://api.deepseek.com", apiKey: "k", fetch }), model: deepSeek.model },
    azure: { client: new AzureOpenAI({ endpoint, apiKey: "k", apiVersion: "2024-10-21", fetch }), model: azure.model },
  };
  const provider = openaiChat({ ...clients[kind], id: kind });
  const result = await runToolLoop({ provider, messages, modelSettings: { maxOutputTokens: 500, temperature: 0.2 } });
  assert.deepEqual([result.text, refusals], ["ok", []]);
  const { temperature, max_tokens: limit, max_completion_tokens: newLimit = limit } = requests[0]?.body ?? {};
  assert.deepEqual([temperature, newLimit], [0.2, 500]);
}

for (const model of ["claude-sonnet-4-6", "claude-opus-5"]) {
  const { fetch, requests, refusals } = strictService("anthropic");
  const provider = anthropicMessages({ client: new Anthropic({ apiKey: "k", fetch }), model, thinking: { type: "adaptive" } });
  await runToolLoop({ provider, messages, modelSettings: { extra: { output_config: { effort: "low" } } } });
  assert.deepEqual([requests[0]?.body["output_config"], refusals], [{ effort: "low" }, []]);
}

const gemini = strictService("gemini");
const client = new GoogleGenAI({ apiKey: "k", httpOptions: { fetch: gemini.fetch } });
const thinking = { includeThoughts: true, thinkingLevel: "LOW" };
await runToolLoop({ provider: googleGenerateContent({ client, model: "gemini-3-pro-preview", thinking }), messages });
assert.deepEqual([gemini.requests.length, gemini.refusals], [1, []]);
assert.match(JSON.stringify(gemini.requests[0]?.body), /"thinkingLevel":"LOW"/);

{
  const { fetch, refusals } = strictService("anthropic");
  const provider = anthropicMessages({ client: new Anthropic({ apiKey: "k", fetch }), model: "claude-opus-5" });
  const folder = mkdtempSync(join(tmpdir(), "media-"));
  writeFileSync(join(folder, "photo.jpg"), Buffer.from([0xff, 0xd8, 0xff, 0xe0]));
  writeFileSync(join(folder, "bill.pdf"), "%PDF-1.4");
  const home = process.cwd();
  process.chdir(folder);
  // #region media
  const [photo, bill] = [readFileSync("photo.jpg"), readFileSync("bill.pdf")];
  const question: Message = {
    role: "user",
    content: [
      { type: "text", text: "Is this on the bill?" },
      { type: "image", mediaType: "image/jpeg", data: photo.toString("base64") },
      { type: "file", mediaType: "application/pdf", filename: "bill.pdf", data: bill.toString("base64") },
    ],
  };
  const result = await runToolLoop({ provider, messages: [question] });
  // #endregion media
  process.chdir(home);
  rmSync(folder, { recursive: true });
  assert.deepEqual([result.text, refusals], ["ok", []]);
}
