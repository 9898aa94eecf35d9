// The model services, one row each, with the reports that document each quirk. Adapters read these rows. Rules for `strictService` are in
// other files, so that adapters do not bundle them.

import {
  anthropicMedia,
  azureMedia,
  bedrockMedia,
  deepseekMedia,
  googleMedia,
  groqMedia,
  llamaServerMedia,
  noMedia,
  ollamaMedia,
  openaiMedia,
  vllmMedia,
} from "./media-limits.ts";
import { alwaysThinkingKimi, newerKimi, parameterNames } from "./name-patterns.ts";
import { toMoonshotTool } from "./moonshot-schemas.ts";
import type { ModelQuirks, Quirks, Service } from "./service.ts";
import { forGemini, notPython, withItems, withoutDepth, withoutPatterns } from "./tool-schemas.ts";

/**
 * Describes when OpenAI's models reason, and which of them then refuse function tools in Chat Completions
 * (github.com/openai/openai-openapi/issues/541, github.com/BerriAI/litellm/issues/34569, github.com/firebase/genkit/issues/6303).
 * gpt-6-astra, gpt-6.1-sol and gpt-6.2 do not offer the effort "none". A reasoning model refuses `temperature` and `top_p`, and GPT-6 also
 * `stop` (github.com/bolna-ai/bolna/issues/1019).
 */
const openaiModels: readonly ModelQuirks[] = [
  { model: /^(?:o\d|gpt-5(?:$|-(?!chat)))/, quirks: { reasons: "always" } },
  { model: /^gpt-5\.[1-5](?!\d)/, quirks: { reasons: "on-request" } },
  { model: /^gpt-5\.[45](?!\d)/, quirks: { toolsNeedResponses: true } },
  { model: /^gpt-5\.\d+-pro/, quirks: { reasons: "always" } },
  { model: /^gpt-(?:5\.(?:[6-9]|\d\d)|[6-9]|\d\d)/, quirks: { reasons: "by-default", toolsNeedResponses: true } },
  { model: /^gpt-6(?:\.1-sol|\.[2-9]|-astra)/, quirks: { reasons: "always" } },
];

/**
 * A pattern in a tool schema must be valid in Python: "is not a 'regex'" (github.com/BerriAI/litellm/pull/40485,
 * github.com/pleaseai/shunt/pull/488). Lookaround is refused by the Codex backend, and in some requests elsewhere
 * (github.com/tombii/better-ccflare/issues/357, github.com/Dokploy/mcp/issues/45). An array must have `items`: "array schema missing items"
 * (github.com/garrytan/gbrain/pull/1028).
 */
const openaiSchemas: Quirks = { toTool: /* @__PURE__ */ withItems(notPython) };

const bedrockQuirks: Quirks = { declaresOldTools: true, callIds: "plain", emptyText: "(empty)", alternates: true };

/**
 * Alibaba's service refuses a tool named "search": "Tool names are not allowed to be [search]"
 * (github.com/tailcallhq/forgecode/issues/1580, github.com/QwenLM/qwen-code/issues/384).
 */
const qwenNames: RegExp = /^(?!search$)/;

/** Tool names must begin with a letter or "_" (docstring of `FunctionDeclaration.name` in @google/genai). */
const googleNames: RegExp = /^[a-z_]/i;

/**
 * Gemini refuses required properties that are not defined: "required[0]: property is not defined"
 * (github.com/probelabs/probe/issues/569, github.com/NousResearch/hermes-agent/pull/64054), blank enum values: "enum[3]: cannot be empty"
 * (github.com/sbroenne/mcp-server-excel/issues/607), and enums of types other than string: "enum: only allowed for STRING type"
 * (github.com/microsoft/azure-devops-mcp/issues/145).
 */
const geminiSchemas: Quirks = { toTool: forGemini };

/**
 * llama.cpp builds a grammar from the patterns in a tool's schema. The grammar does not support classes such as `\d`, and a pattern must
 * have both anchors (`^` and `$`) (github.com/rowboatlabs/rowboat/pull/741, common/json-schema-to-grammar.cpp in
 * github.com/ggml-org/llama.cpp).
 */
const grammarPatterns: Quirks = { toTool: /* @__PURE__ */ withoutPatterns(/\\[a-z]|\(\?|^(?!\^)|(?<!\$)$/i) };

/**
 * Muse Spark refuses recursive schemas (github.com/anomalyco/opencode/issues/45800), and schemas with more than 10 levels
 * (github.com/anomalyco/opencode/issues/50297).
 */
const museSchemas: Quirks = { toTool: /* @__PURE__ */ withoutDepth(10) };

/** OpenAI accepts at most 128 tools and 4 stop sequences (github.com/zed-industries/zed/issues/42393, types in the package `openai`). */
export const openai: Service = {
  name: "openai",
  address: /(?:^|\.)openai\.com$/,
  // Matches the provider names that the @ai-sdk/openai package uses.
  id: /^openai\.(?:chat|responses)$/,
  quirks: { maxTools: 128, maxStops: 4, media: openaiMedia, thinkTags: false },
  models: openaiModels,
  everywhere: [
    { model: /(?:^|\/)(?:gpt-(?!oss)|chatgpt|o\d)/, quirks: { thinkTags: false } },
    { model: /(?:^|[/:])(?:gpt-(?!oss)|chatgpt|o\d|codex-)/, quirks: openaiSchemas },
  ],
};

/**
 * Some rules for Anthropic's models also apply behind gateways with OpenAI's API: tools must be declared if the messages contain calls,
 * text must not be empty, and an assistant message must not come last. `findQuirks` adds each model's rules from claude-models.ts.
 */
export const anthropic: Service = {
  name: "anthropic",
  address: /(?:^|\.)anthropic\.com$/,
  id: /(?:^|\.)anthropic/,
  quirks: { media: anthropicMedia, parameterNames },
  everywhere: [
    {
      model: /claude-/i,
      quirks: {
        declaresOldTools: true,
        callIds: "plain",
        parameterNames,
        emptyText: "(empty)",
        alternates: true,
        endsWithUser: true,
        media: anthropicMedia,
        thinkTags: false,
      },
    },
  ],
};

/** All known services. If several services match an address, the first one is used. */
export const services: readonly Service[] = [
  openai,
  // Azure runs OpenAI's models under OpenAI's rules (github.com/palantir/foundry-dev-tools/issues/779). It also runs Claude models. Its
  // support for the beta `thinking-binding-controls` is not verified (github.com/pydantic/pydantic-ai/issues/8037).
  {
    ...openai,
    name: "azure",
    address: /\.(?:openai|services\.ai|cognitiveservices)\.azure\.com$|\.azure\.anthropic\.com$/,
    quirks: { ...openai.quirks, media: azureMedia },
    claudeQuirks: { media: anthropicMedia, refusesBinding: true },
    id: /^(?:az|azure)(?:$|[.\-_])/,
  },
  // Bedrock also has addresses in private networks and in China. It refuses the beta `thinking-binding-controls`
  // (github.com/earendil-works/pi). Support on Bedrock Mantle is not verified (github.com/pydantic/pydantic-ai/issues/8037). Behind any
  // gateway, it refuses a request without tools if its messages contain calls: "The toolConfig field must be defined when using toolUse and
  // toolResult content blocks." (github.com/langgenius/dify/issues/17545, github.com/vxcontrol/pentagi/issues/196). It also refuses empty
  // text (github.com/vercel/ai/issues/14618).
  {
    name: "bedrock",
    address: /(?:^|\.)bedrock[\w-]*\.[\w-]+\.(?:(?:vpce\.)?amazonaws\.com(?:\.cn)?|api\.aws)$/,
    id: /bedrock/,
    quirks: { ...bedrockQuirks, media: bedrockMedia, refusesBinding: true },
    everywhere: [{ model: /^(?:bedrock\/|(?:us|eu|apac|global|us-gov)\.[a-z]\w*\.)/i, quirks: bedrockQuirks }],
  },
  // Cerebras refuses `reasoning_content` in messages for every model (github.com/QwenLM/qwen-code/issues/11045).
  {
    name: "cerebras",
    address: /(?:^|\.)cerebras\.ai$/,
    id: /^cerebras/,
    quirks: { echoReasoning: undefined },
  },
  anthropic,
  // DashScope (Alibaba) requires a user message (github.com/langfuse/langfuse/issues/10513), and refuses a forced call while a Qwen model
  // thinks (github.com/cloudwego/eino/issues/994). The `enable_thinking` field turns thinking off. QwQ and Qwen3 Thinking always think, and
  // their chat template writes the opening `<think>` tag, so answers contain only the closing one
  // (github.com/theroyallab/tabbyAPI/issues/309, github.com/vllm-project/vllm/issues/31045).
  {
    name: "dashscope",
    address: /(?:^|\.)dashscope(?:-[\w-]+)?\.aliyuncs\.com$/,
    id: /^(?:dashscope|alibaba|qwen)/,
    quirks: { maxTokensField: "max_tokens", toolNames: qwenNames, alternates: true },
    models: [{ model: /qwen|qwq/i, quirks: { forcedChoice: { enable_thinking: false } } }],
    everywhere: [{ model: /\bqwq\b|qwen3.*-thinking-2507/i, quirks: { thinkTags: "opened" } }],
  },
  // DeepSeek V4 thinks unless the request turns thinking off. While it thinks, it refuses a forced call
  // (github.com/deepseek-ai/DeepSeek-V3/issues/1376), and a message with calls must contain `reasoning_content`
  // (github.com/iOfficeAI/AionUi/issues/2746). DeepSeek R1 must not get this field (@ai-sdk/deepseek 3.0.56), but `deepseek-reasoner` has
  // required it since V3.2 (github.com/continuedev/continue/issues/10193, github.com/langgenius/dify-official-plugins/issues/2306). R1
  // always thinks, and its chat template writes the opening tag (github.com/vllm-project/vllm/issues/13125). Only V4.1 Flash accepts
  // images, as `deepseek-flash` and under V4 Flash's old names (github.com/yilewang/llm-for-zotero/issues/143,
  // github.com/langgenius/dify-official-plugins/issues/3867).
  {
    name: "deepseek",
    address: /(?:^|\.)deepseek\.com$/,
    id: /^deepseek/,
    quirks: { maxTokensField: "max_tokens", media: deepseekMedia },
    models: [
      { model: /deepseek-(?:v4|flash|chat|reasoner)/i, quirks: { forcedChoice: { thinking: { type: "disabled" } } } },
      { model: /deepseek-reasoner/i, quirks: { echoReasoning: "reasoning_content" } },
      { model: /deepseek-(?:v4-pro|chat|reasoner)/i, quirks: { media: noMedia } },
    ],
    everywhere: [
      { model: /deepseek-(?:v4|flash)/i, quirks: { echoReasoning: "reasoning_content" } },
      { model: /deepseek-r1/i, quirks: { thinkTags: "opened" } },
    ],
  },
  {
    name: "fireworks",
    address: /(?:^|\.)fireworks\.ai$/,
    id: /^fireworks/,
    quirks: { maxTokensField: "max_tokens" },
  },
  // Google's endpoints that implement OpenAI's API. Starting with Gemini 3, a message's first call needs a thought signature, and calls
  // from other models get a placeholder (ai.google.dev/gemini-api/docs/openai, ai.google.dev/gemini-api/docs/thought-signatures). Vertex AI
  // also runs Claude models, with Anthropic's limits, and refuses unknown betas.
  {
    name: "google",
    address: /(?:^|[.-])(?:generativelanguage|aiplatform(?:\.\w+\.rep)?)\.googleapis\.com$/,
    id: /^(?:google|gcp|gemini)/,
    quirks: { alternates: true, endsWithUser: true, toolNames: googleNames, media: googleMedia },
    claudeQuirks: { media: anthropicMedia, refusesBinding: true },
    everywhere: [{ model: /(?:^|[/:])gemini-/i, quirks: geminiSchemas }],
    models: [
      {
        model: /gemini-(?![12](?!\d))/i,
        quirks: { firstCallExtra: { google: { thought_signature: "skip_thought_signature_validator" } } },
      },
    ],
  },
  // Groq accepts at most 128 tools and 4 stop sequences (types of groq-sdk 1.6.0) and refuses JSON mode with tools (@ai-sdk/groq 4.0.84).
  // It can hide reasoning, and refuses `reasoning_content` (github.com/janhq/jan/issues/8136).
  {
    name: "groq",
    address: /(?:^|\.)groq\.com$/,
    id: /^groq/,
    quirks: {
      maxTools: 128,
      maxStops: 4,
      separatesSchema: true,
      separatesReasoning: true,
      media: groqMedia,
      echoReasoning: undefined,
    },
  },
  // LiteLLM is a proxy whose models may run on Bedrock under any name, so tools are declared whenever the messages contain calls.
  {
    name: "litellm",
    port: "4000",
    id: /^litellm/,
    quirks: { declaresOldTools: true },
  },
  // llama-server treats a tool choice in object form as "auto". It refuses two assistant messages at the end (or one, if the model thinks),
  // and a grammar together with tools (tools/server/server-common.cpp in github.com/ggml-org/llama.cpp).
  {
    name: "llama-server",
    port: "8080",
    id: /^llama[.-]?(?:cpp|server)/,
    quirks: {
      alternates: true,
      endsWithUser: true,
      namedChoice: "single",
      separatesSchema: true,
      media: llamaServerMedia,
      ...grammarPatterns,
    },
  },
  // LM Studio runs llama.cpp. It accepts `tool_choice` only as a string (github.com/lmstudio-ai/lmstudio-bug-tracker/issues/670), and
  // separates reasoning from text.
  {
    name: "lm-studio",
    port: "1234",
    id: /^lm-?studio/,
    quirks: {
      alternates: true,
      endsWithUser: true,
      namedChoice: "single",
      maxTokensField: "max_tokens",
      separatesReasoning: true,
      ...grammarPatterns,
    },
  },
  // Meta's Model API accepts only the tool choice "auto" (github.com/LiveBench/LiveBench/issues/499).
  {
    name: "meta",
    address: /^api\.(?:meta\.ai|llama\.com)$/,
    id: /^meta/,
    quirks: { forcedChoice: "never", noneChoice: "no-tools", ...museSchemas },
    everywhere: [{ model: /muse-spark/i, quirks: museSchemas }],
  },
  {
    name: "minimax",
    address: /(?:^|\.)minimaxi?\.(?:io|chat|com)$/,
    id: /^minimax/,
    quirks: { maxTokensField: "max_tokens" },
  },
  // Mistral's own API. A conversation must end with a user or tool message (github.com/QuantumNous/new-api/issues/2858). The rules about
  // order and ids come from the models' chat template, so they also apply on other services
  // (github.com/NousResearch/hermes-agent/issues/20154, github.com/karthink/gptel/issues/1203, github.com/charmbracelet/crush/issues/279).
  {
    name: "mistral",
    address: /(?:^|\.)mistral\.ai$/,
    id: /^mistral/,
    quirks: {
      callIds: "nine",
      answersTools: true,
      alternates: true,
      endsWithUser: true,
      maxTokensField: "max_tokens",
      seedField: "random_seed",
    },
    everywhere: [
      {
        model: /(?:^|[/.])(?:open-)?(?:mistral|mixtral|ministral|magistral|devstral|codestral|pixtral|voxtral)-/i,
        quirks: { callIds: "nine", answersTools: true, alternates: true, endsWithUser: true },
      },
    ],
  },
  // Kimi models think unless the request turns thinking off. K3 always thinks, and K2.7 refuses requests that turn thinking off
  // (github.com/can1357/oh-my-pi/issues/3852). While they think, they refuse a forced call, but K3 accepts "required"
  // (github.com/can1357/oh-my-pi/issues/1077, platform.kimi.ai/docs/guide/use-reasoning-effort). A message with calls must contain
  // `reasoning_content` (github.com/earendil-works/pi/issues/8075). Starting with K2.5, models set `temperature` and `top_p` themselves
  // (github.com/iOfficeAI/gemini-cli-pro/pull/30, github.com/shandianshuo/shandianshuo-releases/issues/13). The models expect call ids such
  // as "functions.read:0", and tool names must begin with a letter (github.com/MoonshotAI/kimi-cli/issues/1595).
  {
    name: "moonshot",
    address: /(?:^|\.)(?:moonshot\.(?:ai|cn)|kimi\.(?:ai|com))$/,
    id: /^(?:moonshot|kimi)/,
    quirks: { maxTokensField: "max_tokens", toolNames: /^[a-z]/i, toTool: toMoonshotTool },
    models: [
      { model: newerKimi, quirks: { fixedSampling: true } },
      { model: /kimi-(?:k2\.[56]|latest)/i, quirks: { forcedChoice: { thinking: { type: "disabled" } } } },
      { model: alwaysThinkingKimi, quirks: { forcedChoice: "never" } },
      { model: /kimi-k[3-9]/i, quirks: { namedChoice: "single" } },
    ],
    everywhere: [
      { model: /kimi-/i, quirks: { callIds: "any", toolNames: /^[a-z]/i, toTool: toMoonshotTool } },
      { model: /kimi-(?:k2\.[5-9]|k2-thinking|latest|k[3-9])/i, quirks: { echoReasoning: "reasoning_content" } },
    ],
  },
  // Ollama ignores `tool_choice` (openai/openai.go in github.com/ollama/ollama), and refuses two assistant messages at the end
  // (github.com/NousResearch/hermes-agent/issues/80265). It separates reasoning from text, and reasoning can be turned off for each model.
  {
    name: "ollama",
    address: /(?:^|\.)ollama\.com$/,
    port: "11434",
    id: /^ollama/,
    quirks: {
      alternates: true,
      endsWithUser: true,
      namedChoice: "single",
      forcedChoice: "never",
      noneChoice: "no-tools",
      maxTokensField: "max_tokens",
      separatesReasoning: true,
      media: ollamaMedia,
    },
  },
  // OpenRouter finds no endpoint for some forms of `tool_choice` (404, github.com/zed-industries/zed/issues/36094). More endpoints accept a
  // string than an object. It separates reasoning from text. GLM models accept only "auto", as at z.ai. Kimi and DeepSeek V4 refuse a
  // forced call while they think, as they do on their own services. The `reasoning` field turns thinking off
  // (openrouter.ai/docs/use-cases/reasoning-tokens), except for Kimi K2 Thinking and K2.7, which always think
  // (github.com/AgentFlocks/flocks/pull/620).
  {
    name: "openrouter",
    address: /(?:^|\.)openrouter\.ai$/,
    id: /^openrouter/,
    quirks: { namedChoice: "single", separatesReasoning: true },
    models: [
      { model: /^(?:z-ai\/|meta(?:-llama)?\/muse-)/, quirks: { forcedChoice: "never", noneChoice: "no-tools" } },
      {
        model: /^(?:moonshotai\/kimi-k2\.[56]|deepseek\/deepseek-v4)/,
        quirks: { forcedChoice: { reasoning: { enabled: false } } },
      },
      // OpenRouter may route these models to Alibaba, so tool names must follow Alibaba's rule.
      { model: /^qwen\//, quirks: { toolNames: qwenNames } },
      { model: /^moonshotai\/kimi-k2(?:\.[7-9]|-thinking)/, quirks: { forcedChoice: "never" } },
    ],
  },
  {
    name: "together",
    address: /(?:^|\.)together\.(?:xyz|ai)$/,
    id: /^together/,
    quirks: { maxTokensField: "max_tokens" },
  },
  // The chat templates of local models require alternating user and assistant messages. vLLM has renamed `reasoning_content` to `reasoning`
  // (vllm/entrypoints/openai/chat_completion/protocol.py).
  {
    name: "vllm",
    port: "8000",
    id: /^vllm/,
    quirks: { media: vllmMedia, alternates: true },
    models: [{ model: /deepseek-(?:v4|flash)|kimi-(?:k2\.[5-9]|k2-thinking|k[3-9])/i, quirks: { echoReasoning: "reasoning" } }],
  },
  // xAI refuses a message without content: "Each message must have at least one content element."
  // (github.com/langchain-ai/langchain/issues/34140). It reserves the tool name "web_search" for Grok's own tool: "custom function name
  // "web_search" is reserved" (github.com/earendil-works/pi/issues/8661, github.com/nicobailon/pi-web-access/issues/138).
  {
    name: "xai",
    address: /(?:^|\.)x\.ai$/,
    id: /^(?:x-?ai|grok)/,
    quirks: { callText: "(Calls tools.)", emptyText: "(empty)" },
    everywhere: [{ model: /grok/i, quirks: { toolNames: /^(?!web_search$)/ } }],
  },
  // MiMo thinks by default, and then refuses a message with calls but without `reasoning_content` as "Param Incorrect"
  // (github.com/earendil-works/pi/issues/4602, github.com/VicBilibily/GCMP/issues/171). So it does with content that is null: "`text` is
  // not present" (github.com/XiaomiMiMo/MiMo-V2-Flash/issues/8, github.com/HKUDS/nanobot/issues/2519).
  {
    name: "xiaomi",
    address: /(?:^|\.)xiaomimimo\.com$/,
    id: /^(?:xiaomi|mimo)/,
    everywhere: [{ model: /mimo-v/i, quirks: { echoReasoning: "reasoning_content", callText: "" } }],
  },
  // z.ai accepts only the tool choice "auto", not even "none": "Tool choice must be auto" (github.com/can1357/oh-my-pi/issues/11635). It
  // refuses requests without a user message (github.com/anomalyco/opencode/issues/2557).
  {
    name: "zai",
    address: /(?:^|\.)(?:z\.ai|bigmodel\.cn)$/,
    id: /^(?:z-?ai|zhipu|bigmodel)/,
    quirks: { maxTokensField: "max_tokens", forcedChoice: "never", noneChoice: "no-tools", alternates: true },
  },
];
