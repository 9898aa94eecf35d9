// One file per model service in this folder holds its rules and quirks as data. The adapters read the quirks to build requests that
// the service accepts, and `strictService` of `turnwright/testing` reads the rules to refuse what the service refuses.

/** The model services whose rules are known. */
export type ServiceName =
  | "anthropic"
  | "azure"
  | "bedrock"
  | "deepseek"
  | "google"
  | "groq"
  | "llama-server"
  | "lm-studio"
  | "mistral"
  | "moonshot"
  | "ollama"
  | "openai"
  | "openrouter"
  | "vllm";

/** How a service on the Chat Completions wire differs from OpenAI. A quirk that is absent has OpenAI's behaviour. */
export interface ChatQuirks {
  /** "nine": a call id must have exactly 9 letters and digits. Default: at most 40 characters. */
  readonly callIds?: "nine" | undefined;
  /** True if a user message must not follow a tool message directly: an assistant message then comes between the two. */
  readonly answersTools?: true | undefined;
  /**
   * The form of a choice of one tool. "single": the request has only this tool, and the choice "required". Default: an object with
   * the name of the tool.
   */
  readonly namedChoice?: "single" | undefined;
  /**
   * "never": the service refuses a forced call. "without-thinking": it refuses a forced call while the model thinks. The request then
   * has the choice "auto" and an instruction. Default: forced calls are accepted.
   */
  readonly forcedChoice?: "never" | "without-thinking" | undefined;
  /** True if a request must declare tools when its messages have calls. */
  readonly declaresOldTools?: true | undefined;
  /** The field for `maxOutputTokens`. Default "max_completion_tokens". */
  readonly maxTokensField?: "max_tokens" | undefined;
  /** The field in which the reasoning of earlier messages must be sent back. Default: reasoning is not sent back. */
  readonly echoReasoning?: "reasoning_content" | "reasoning" | undefined;
}

/** A model service: how it is recognized, and its quirks. */
export interface Service {
  readonly name: ServiceName;
  /** Matches the host and port of the service, for example "api.mistral.ai" or "127.0.0.1:1234". */
  readonly address?: RegExp | undefined;
  /** Matches the option `id` of the adapter, in lower case. */
  readonly id?: RegExp | undefined;
  /** Matches names of models that need these quirks at any address, because they come with the model's chat template. */
  readonly model?: RegExp | undefined;
  readonly chat?: ChatQuirks | undefined;
}
