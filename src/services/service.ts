// Types for the table in services.ts. Each row is a model service with its quirks, from which adapters build requests that the service
// accepts. Rules for `strictService` are in rule.ts.

import type { Json, ToolDefinition } from "../core/index.ts";
import type { MediaLimits } from "../shared/adapters/fit-media.ts";

/** The model services whose rules are known. */
export type ServiceName =
  | "anthropic"
  | "azure"
  | "bedrock"
  | "cerebras"
  | "dashscope"
  | "deepseek"
  | "fireworks"
  | "google"
  | "groq"
  | "litellm"
  | "llama-server"
  | "lm-studio"
  | "meta"
  | "minimax"
  | "mistral"
  | "moonshot"
  | "ollama"
  | "openai"
  | "openrouter"
  | "together"
  | "vllm"
  | "xai"
  | "xiaomi"
  | "zai";

/**
 * How a service differs from a server that accepts every valid request. An absent quirk means that the service has no such rule. Each
 * adapter follows the quirks that concern its API. Most concern Chat Completions.
 */
export interface Quirks {
  /**
   * The call ids that the service accepts. "nine": exactly 9 letters and digits. "plain": at most 40 letters, digits, "_" and "-".
   * "any": no rule. Default: at most 40 characters.
   */
  readonly callIds?: "nine" | "plain" | "any" | undefined;
  /** Matches the tool names that the service accepts. Default: all valid tool names. */
  readonly toolNames?: RegExp | undefined;
  /** Matches the tool parameter names that the service accepts. Default: all names. */
  readonly parameterNames?: RegExp | undefined;
  /** Converts a tool to a form that the service accepts. Default: no conversion. */
  readonly toTool?: ((tool: ToolDefinition) => ToolDefinition) | undefined;
  /** True if a user message must not follow a tool message directly. An assistant message is then inserted between the two. */
  readonly answersTools?: true | undefined;
  /** True if a user message must come first, and user and assistant messages must alternate. */
  readonly alternates?: true | undefined;
  /** True if an assistant message must not come last. */
  readonly endsWithUser?: true | undefined;
  /** The text that is added to assistant messages that contain only calls. Default: their content is `null`. */
  readonly callText?: string | undefined;
  /** The text that is added to user and tool messages without text. Default: their content is "". */
  readonly emptyText?: string | undefined;
  /** True if a request must not have both a schema for the answer and tools. The schema is then put into the system text. */
  readonly separatesSchema?: true | undefined;
  /** The `extra_content` to add to the first call in an assistant message, unless the service sent its own. */
  readonly firstCallExtra?: Json | undefined;
  /**
   * How a request forces a call to one tool. "single": it contains only this tool, and the choice "required". Default: the choice is an
   * object with the tool's name.
   */
  readonly namedChoice?: "single" | undefined;
  /**
   * "never": the service refuses or ignores a forced call. The request then uses the choice "auto" and asks for the call in words. An
   * object: the service refuses a forced call while the model thinks, and these fields turn thinking off. If the caller set one of the
   * fields to a different value, the request uses "auto" and asks in words instead.
   */
  readonly forcedChoice?: "never" | { readonly [field: string]: Json } | undefined;
  /** "no-tools": the service refuses the choice "none", so the request contains no tools instead. */
  readonly noneChoice?: "no-tools" | undefined;
  /** True if a request whose messages contain calls must also declare tools. */
  readonly declaresOldTools?: true | undefined;
  /** The maximum number of tools in a request. */
  readonly maxTools?: number | undefined;
  /** The maximum number of stop sequences in a request. */
  readonly maxStops?: number | undefined;
  /** The field for `maxOutputTokens`. Default "max_completion_tokens". */
  readonly maxTokensField?: "max_tokens" | undefined;
  /** The field for `seed`. Default "seed". */
  readonly seedField?: "random_seed" | undefined;
  /** The field in which the reasoning of earlier messages must be sent back. Default: reasoning is not sent back. */
  readonly echoReasoning?: "reasoning_content" | "reasoning" | undefined;
  /**
   * When the model reasons: in every request, in every request whose effort is not "none", or only in requests with an effort. While it
   * reasons, the service refuses `temperature`, `top_p` and `stop`. Default: the service accepts these fields.
   */
  readonly reasons?: "always" | "by-default" | "on-request" | undefined;
  /** True if the service sets `temperature` and `top_p` itself, and refuses other values. */
  readonly fixedSampling?: true | undefined;
  /**
   * True if the text of an answer may begin with reasoning in tags, such as `<think>`. "opened": the chat template writes the opening
   * tag, so that an answer has only the closing tag. Default true.
   */
  readonly thinkTags?: false | "opened" | undefined;
  /** True if the service separates or hides the reasoning of models whose chat template writes the opening tag. */
  readonly separatesReasoning?: true | undefined;
  /** True if the service is not known to accept the `thinking-binding-controls-2026-08-01` beta in Anthropic's API. */
  readonly refusesBinding?: true | undefined;
  /** The limits for images and files. Default: no limits. */
  readonly media?: MediaLimits | undefined;
  /** True if Chat Completions refuses function tools while the model reasons. */
  readonly toolsNeedResponses?: true | undefined;
}

/** The quirks of the models whose names match `model`. */
export interface ModelQuirks {
  /** Matches the model's name. */
  readonly model: RegExp;
  readonly quirks: Quirks;
}

/** A model service: how it is recognized, and its quirks. */
export interface Service {
  readonly name: ServiceName;
  /** Matches the host of the service, for example "api.mistral.ai". */
  readonly address?: RegExp | undefined;
  /** The port that the service listens on by default, if it usually runs on the user's own computer. */
  readonly port?: string | undefined;
  /** Matches the adapter's `id` option, in lower case. */
  readonly id?: RegExp | undefined;
  readonly quirks?: Quirks | undefined;
  /** The quirks that replace `quirks` for Anthropic's API, if the service offers Claude models through that API. */
  readonly claudeQuirks?: Quirks | undefined;
  /** Additional quirks of certain models at this service. All entries that match apply. Later entries take precedence. */
  readonly models?: readonly ModelQuirks[] | undefined;
  /**
   * Quirks that the service's models have wherever they are hosted, because they come with the model, for example with its chat template.
   */
  readonly everywhere?: readonly ModelQuirks[] | undefined;
}
