// Lists the services that `strictService` can simulate. Each combines its API's rules, its own rules and its models' rules.

import { anthropicModelRules, claudeGatewayRules, toAnthropicError } from "../../services/anthropic.ts";
import { azureRules, azureStyle } from "../../services/azure.ts";
import { bedrockMessagesRules, bedrockRules, bedrockStyle, toBedrockError } from "../../services/bedrock.ts";
import {
  chatArgumentRules,
  chatFieldRules,
  chatFormRules,
  chatLimitRules,
  chatMediaRules,
  chatNameRules,
  chatPairRules,
  chatSchemaRules,
  chatStopRules,
  chatToolRules,
} from "../../services/chat-wire.ts";
import { deepseekRules, deepseekStyle } from "../../services/deepseek.ts";
import { googleRules, toGoogleError } from "../../services/google.ts";
import { groqRules, groqStyle, toGroqError } from "../../services/groq.ts";
import {
  grammarRules,
  llamaServerRules,
  llamaServerStyle,
  localEndRules,
  toLlamaServerError,
} from "../../services/llama-server.ts";
import { lmStudioRules, lmStudioStyle, toLmStudioError } from "../../services/lm-studio.ts";
import { messagesContentRules, messagesFieldRules, messagesOrderRules, messagesToolRules } from "../../services/messages-wire.ts";
import { messagesMediaRules } from "../../services/messages-media.ts";
import { mistralModelRules, mistralRules, mistralStyle, toMistralError } from "../../services/mistral.ts";
import { moonshotRules, moonshotStyle } from "../../services/moonshot.ts";
import type { ChatStyle } from "../../services/oddities.ts";
import { ollamaRules, ollamaStyle, toOllamaError } from "../../services/ollama.ts";
import { openaiChatModelRules, openaiResponsesModelRules, openaiStyle, toOpenAIError } from "../../services/openai.ts";
import { openrouterRules, openrouterStyle, toOpenrouterError } from "../../services/openrouter.ts";
import { responsesWireRules } from "../../services/responses-wire.ts";
import type { Rule, ToErrorBody } from "../../services/rule.ts";
import { toVllmError, vllmRules, vllmStyle } from "../../services/vllm.ts";
import type { ToCallId } from "./answer.ts";
import { preservedThinkingRule } from "./prefix.ts";
import type { Wire } from "./read-wire.ts";
import { show } from "../../services/rule-checks.ts";

/** A service that `strictService` can simulate. */
export type StrictServiceKind =
  | "anthropic"
  | "anthropic-preserved-thinking"
  | "azure"
  | "bedrock"
  | "deepseek"
  | "gemini"
  | "groq"
  | "llama-server"
  | "lm-studio"
  | "mistral"
  | "moonshot"
  | "ollama"
  | "openai-chat"
  | "openai-responses"
  | "openrouter"
  | "vllm";

/** A family of models at a service, with its own rules. */
export interface Family {
  readonly title: string;
  readonly model: RegExp;
  readonly rules: readonly Rule[];
  /** Creates the call ids of these models, if they differ from those of the service's other models. */
  readonly toCallId?: ToCallId | undefined;
}

/** One of a service's APIs. */
export interface ServedWire {
  readonly rules: readonly Rule[];
  readonly families: readonly Family[];
  readonly toError: ToErrorBody;
}

export interface Kind {
  readonly title: string;
  readonly wires: { readonly [Name in Wire]?: ServedWire };
  readonly style: ChatStyle;
  readonly toCallId: ToCallId;
  /** True if thinking is only valid after an unchanged prefix. */
  readonly checksPrefix: boolean;
}

const plainId: ToCallId = ({ key, index }) => `call_${key}${index}`;
const nineCharacters: ToCallId = ({ key, index }) => `${key.slice(0, 9 - show(index).length)}${index}`;
const toolUseId: ToCallId = ({ key, index }) => `toolu_${key}${index}`;
/** Creates a call id as Kimi does, which counts all calls in the conversation. */
const kimiId: ToCallId = ({ name, index, request }) => `functions.${name}:${request.calls.length + index}`;
const geminiId: ToCallId = ({ key, index, request }) => (/gemini-[12]/.test(request.model) ? "" : `${key}${index}`);

const mistralFamily: Family = {
  title: "Mistral's models",
  model: /(?:^|[/.])(?:open-)?(?:mistral|mixtral|ministral|magistral|devstral|codestral|pixtral|voxtral)-/i,
  rules: mistralModelRules,
  toCallId: nineCharacters,
};
const claudeFamily: Family = { title: "Anthropic's models", model: /claude-/i, rules: claudeGatewayRules };
const openaiFamily: Family = { title: "OpenAI's models", model: /^openai\//, rules: [...chatSchemaRules, ...chatLimitRules] };

const served = (toError: ToErrorBody, rules: readonly Rule[], families: readonly Family[] = []): ServedWire => ({
  rules,
  families,
  toError,
});

const chatKind = (title: string, style: ChatStyle, chat: ServedWire): Kind => ({
  title,
  wires: { chat },
  style,
  toCallId: plainId,
  checksPrefix: false,
});

const messagesRules: readonly Rule[] = [
  ...messagesFieldRules,
  ...messagesOrderRules,
  ...messagesContentRules,
  ...messagesToolRules,
  ...messagesMediaRules,
  ...anthropicModelRules,
];
const openaiChatRules: readonly Rule[] = [
  ...chatFormRules,
  ...chatFieldRules,
  ...chatPairRules,
  ...chatToolRules,
  ...chatNameRules,
  ...chatSchemaRules,
  ...chatLimitRules,
  ...chatStopRules,
  ...chatMediaRules,
  ...openaiChatModelRules,
];
const openaiResponsesRules: readonly Rule[] = [...responsesWireRules, ...openaiResponsesModelRules];

const anthropicKind = (title: string, checksPrefix: boolean): Kind => ({
  title,
  wires: { messages: served(toAnthropicError, checksPrefix ? [...messagesRules, preservedThinkingRule] : messagesRules) },
  style: openaiStyle,
  toCallId: toolUseId,
  checksPrefix,
});

export const kinds: { readonly [Name in StrictServiceKind]: Kind } = {
  anthropic: anthropicKind("Anthropic", false),
  "anthropic-preserved-thinking": anthropicKind("Anthropic with preserved thinking", true),
  azure: {
    title: "Azure",
    wires: {
      chat: served(toOpenAIError, [...openaiChatRules, ...azureRules], [mistralFamily]),
      responses: served(toOpenAIError, [...openaiResponsesRules, ...azureRules]),
    },
    style: azureStyle,
    toCallId: plainId,
    checksPrefix: false,
  },
  bedrock: {
    title: "Amazon Bedrock",
    wires: {
      chat: served(toBedrockError, [...chatFormRules, ...bedrockRules], [mistralFamily, claudeFamily]),
      messages: served(toAnthropicError, [...messagesRules, ...bedrockMessagesRules]),
    },
    style: bedrockStyle,
    toCallId: toolUseId,
    checksPrefix: false,
  },
  deepseek: chatKind(
    "DeepSeek",
    deepseekStyle,
    served(toOpenAIError, [...chatFormRules, ...chatPairRules, ...chatToolRules, ...chatNameRules, ...deepseekRules]),
  ),
  gemini: {
    title: "Gemini",
    wires: { generate: served(toGoogleError, googleRules) },
    style: openaiStyle,
    toCallId: geminiId,
    checksPrefix: false,
  },
  groq: chatKind(
    "Groq",
    groqStyle,
    served(toGroqError, [...chatFormRules, ...chatToolRules, ...chatNameRules, ...chatStopRules, ...groqRules]),
  ),
  "llama-server": chatKind(
    "llama-server (llama.cpp)",
    llamaServerStyle,
    served(toLlamaServerError, [...chatFormRules, ...localEndRules, ...grammarRules, ...llamaServerRules], [mistralFamily]),
  ),
  "lm-studio": chatKind(
    "LM Studio",
    lmStudioStyle,
    served(toLmStudioError, [...chatFormRules, ...grammarRules, ...lmStudioRules], [mistralFamily]),
  ),
  mistral: {
    title: "Mistral",
    wires: {
      chat: served(toMistralError, [...chatFormRules, ...mistralRules, ...mistralModelRules, ...chatToolRules, ...chatNameRules]),
    },
    style: mistralStyle,
    toCallId: nineCharacters,
    checksPrefix: false,
  },
  moonshot: {
    title: "Moonshot (Kimi)",
    wires: { chat: served(toOpenAIError, [...chatFormRules, ...chatPairRules, ...moonshotRules]) },
    style: moonshotStyle,
    toCallId: kimiId,
    checksPrefix: false,
  },
  ollama: chatKind(
    "Ollama",
    ollamaStyle,
    served(toOllamaError, [...chatFormRules, ...chatArgumentRules, ...localEndRules, ...ollamaRules], [mistralFamily]),
  ),
  "openai-chat": chatKind("OpenAI", openaiStyle, served(toOpenAIError, openaiChatRules)),
  "openai-responses": {
    title: "OpenAI",
    wires: { responses: served(toOpenAIError, openaiResponsesRules) },
    style: openaiStyle,
    toCallId: plainId,
    checksPrefix: false,
  },
  openrouter: chatKind(
    "OpenRouter",
    openrouterStyle,
    served(
      toOpenrouterError,
      [...chatFormRules, ...chatPairRules, ...chatToolRules, ...chatNameRules, ...openrouterRules],
      [mistralFamily, claudeFamily, openaiFamily],
    ),
  ),
  vllm: chatKind("vLLM", vllmStyle, served(toVllmError, [...chatFormRules, ...chatArgumentRules, ...vllmRules], [mistralFamily])),
};
