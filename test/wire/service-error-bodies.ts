// Error bodies of model services and gateways, and the error that each must become.

import type { ProviderErrorCode } from "turnwright";

export const raw = (upstream: unknown): object => ({
  error: {
    message: "Provider returned error",
    code: 400,
    metadata: { raw: typeof upstream === "string" ? upstream : JSON.stringify(upstream), provider_name: "Acme" },
  },
});
const openai = (message: string, fields: object = {}): object => ({
  error: { message, type: "invalid_request_error", ...fields },
});

export interface ErrorBody {
  readonly service: string;
  readonly status: number;
  readonly body: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  readonly code: ProviderErrorCode;
  readonly message: string;
  readonly retryable?: boolean;
  readonly retryAfterMs?: number;
}

const flat = { object: "error", type: "invalid_request_message_order", param: null, code: "3230" };

export const errorBodies: readonly ErrorBody[] = [
  {
    service: "Mistral, flat",
    status: 400,
    body: { ...flat, message: "Unexpected role 'user' after role 'tool'" },
    code: "bad-request",
    message: "Unexpected role 'user' after role 'tool'",
  },
  {
    service: "Mistral, with the details in the message",
    status: 422,
    body: { ...flat, message: { detail: [{ loc: ["body", "seed"], msg: "Extra inputs are not permitted", type: "x" }] } },
    code: "bad-request",
    message: "body.seed: Extra inputs are not permitted",
  },
  {
    service: "FastAPI, a list",
    status: 422,
    body: { detail: [{ loc: ["body", "seed"], msg: "Extra inputs are not permitted", type: "extra_forbidden", input: 7 }] },
    code: "bad-request",
    message: "body.seed: Extra inputs are not permitted",
  },
  { service: "FastAPI, a text", status: 401, body: { detail: "Invalid token" }, code: "auth", message: "Invalid token" },
  {
    service: "vLLM before 0.10, flat",
    status: 400,
    body: { ...flat, message: "This model's maximum context length is 8192 tokens.", type: "BadRequestError", code: 400 },
    code: "context-too-long",
    message: "This model's maximum context length is 8192 tokens.",
  },
  {
    service: "an API gateway",
    status: 403,
    body: { message: "The security token included in the request is expired" },
    code: "auth",
    message: "The security token included in the request is expired",
  },
  {
    service: "xAI, with a text as the error",
    status: 400,
    body: { code: "Client specified an invalid argument", error: "Model not found: m" },
    code: "bad-request",
    message: "Model not found: m",
  },
  {
    service: "LM Studio, a text",
    status: 400,
    body: { error: "Invalid tool_choice" },
    code: "bad-request",
    message: "Invalid tool_choice",
  },
  {
    service: "a server with the name of the status as the error",
    status: 400,
    body: { error: "Bad Request", message: "Prompt exceeds max length", statusCode: 400 },
    code: "context-too-long",
    message: "Prompt exceeds max length",
  },
  {
    service: "Vertex AI, a list",
    status: 429,
    body: [{ error: { code: 429, message: "Resource exhausted.", status: "RESOURCE_EXHAUSTED" } }],
    code: "rate-limit",
    message: "Resource exhausted.",
    retryable: true,
  },
  {
    service: "Gemini, with the body as a text in the message",
    status: 400,
    body: { error: { message: '{ "error": { "code": 400, "message": "Bad part.", "status": "INVALID_ARGUMENT" } }', code: 400 } },
    code: "bad-request",
    message: "Bad part.",
  },
  {
    service: "MiniMax",
    status: 400,
    body: {
      type: "error",
      error: { type: "bad_request_error", message: "tool result's tool id(x) not found (2013)", http_code: "400" },
    },
    code: "bad-request",
    message: "tool result's tool id(x) not found (2013)",
  },
  {
    service: "Together",
    status: 400,
    body: { message: "Input validation error", type_: "invalid_request_error" },
    code: "bad-request",
    message: "Input validation error",
  },
  {
    service: "OpenRouter, with a text of the upstream",
    status: 429,
    body: raw("acme/large is temporarily rate-limited upstream."),
    code: "rate-limit",
    message: "Provider returned error (Acme): acme/large is temporarily rate-limited upstream.",
    retryable: true,
  },
  {
    service: "OpenRouter, with JSON of the upstream",
    status: 502,
    body: raw({ error: { message: "Slow down.", code: 429 } }),
    code: "rate-limit",
    message: "Provider returned error (Acme): Slow down.",
    retryable: true,
  },
  {
    service: "OpenRouter, with a used-up balance at the upstream",
    status: 400,
    body: raw({ type: "error", error: { type: "invalid_request_error", message: "Your credit balance is too low to access." } }),
    code: "rate-limit",
    message: "Provider returned error (Acme): Your credit balance is too low to access.",
    retryable: false,
  },
  {
    service: "OpenRouter, with the type of the error",
    status: 400,
    body: { error: { code: 400, message: "Too big.", metadata: { error_type: "context_length_exceeded" } } },
    code: "context-too-long",
    message: "Too big.",
  },
  {
    service: "OpenRouter without credits",
    status: 402,
    body: { error: { code: 402, message: "Add credits.", metadata: { limit_source: "openrouter_credits" } } },
    code: "rate-limit",
    message: "Add credits.",
    retryable: false,
  },
  {
    service: "OpenRouter with too many requests in flight",
    status: 402,
    headers: { "retry-after": "3" },
    body: { error: { code: 402, message: "Wait.", metadata: { limit_source: "openrouter_in_flight_budget" } } },
    code: "rate-limit",
    message: "Wait.",
    retryable: true,
    retryAfterMs: 3_000,
  },
  {
    service: "LiteLLM, with Anthropic's body",
    status: 400,
    body: {
      error: {
        message:
          'litellm.BadRequestError: AnthropicException - b\'{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 9 tokens > 8 maximum"}}\'. Received Model Group=m',
        type: "None",
        code: "400",
      },
    },
    code: "context-too-long",
    message: "litellm.BadRequestError: AnthropicException - prompt is too long: 9 tokens > 8 maximum",
  },
  {
    service: "Databricks",
    status: 400,
    body: {
      error_code: "BAD_REQUEST",
      message: JSON.stringify({
        external_model_provider: "openai",
        external_model_error: { error: { message: "Too big.", code: "context_length_exceeded" } },
      }),
    },
    code: "context-too-long",
    message: "openai: Too big.",
  },
  {
    service: "Portkey",
    status: 400,
    body: { error: { message: "openai error: Unknown parameter", type: "x", param: null, code: null }, provider: "openai" },
    code: "bad-request",
    message: "openai error: Unknown parameter",
  },
  {
    service: "Vercel's gateway",
    status: 502,
    body: {
      error: {
        message: "Stream error occurred",
        value: { error_message: '{"error":{"type":"overloaded_error","message":"Overloaded"}}' },
      },
    },
    code: "overloaded",
    message: "Stream error occurred: Overloaded",
  },
  {
    service: "Bedrock, with the type in a header",
    status: 400,
    headers: { "x-amzn-errortype": "ThrottlingException:http://internal.amazon.com/" },
    body: { message: "Your request was not processed." },
    code: "rate-limit",
    message: "Your request was not processed.",
    retryable: true,
  },
  {
    service: "Cerebras without a body",
    status: 413,
    body: "",
    code: "context-too-long",
    message: "The service answered with the status 413 and gave no reason.",
  },
  {
    service: "a proxy with plain text",
    status: 502,
    body: "upstream connect error",
    code: "server",
    message: "upstream connect error",
  },
  {
    service: "a model that requires unchanged requests",
    status: 400,
    body: openai(
      "messages.1.content.0: Invalid `signature` in `thinking` block. The block is bound to a different conversation. Remove the block.",
    ),
    code: "request-changed",
    message:
      "messages.1.content.0: Invalid `signature` in `thinking` block. The block is bound to a different conversation. Remove the block.",
    retryable: false,
  },
  {
    service: "a service with another reason for a changed thinking block",
    status: 400,
    body: openai("messages.3.content.0: `thinking` blocks in the latest assistant message cannot be modified."),
    code: "request-changed",
    message: "messages.3.content.0: `thinking` blocks in the latest assistant message cannot be modified.",
  },
];
