// Explains errors caused by wrong addresses and missing keys, because services and SDKs rarely say what to change.

import type { ProviderError } from "../../core/types/common.ts";
import type { UnknownRecord } from "../guards.ts";
import { providerError } from "../errors/provider-error.ts";
import { toProviderError } from "../errors/read-sdk-error.ts";

/** Sentences for the developer. */
export interface ConnectionHints {
  /** How to fix the address. */
  readonly address: string;
  /** The place from which the client's key comes. */
  readonly key: string;
}

/**
 * Matches what servers say about an unknown address: Go servers such as Ollama, proxies, FastAPI servers such as vLLM, llama-server,
 * Anthropic, Azure and OpenAI. Messages about an unknown model name the model.
 */
const unknownAddress =
  /^(?:404 )?(?:page |file |resource )?not found\.?$|^(?:method )?not allowed$|^The server sent an HTML page|gave no reason\.$|^invalid url/i;

/** Matches what LM Studio says about an unknown address, with the status 200 (github.com/lmstudio-ai/lmstudio-bug-tracker). */
const unknownEndpoint = /^unexpected endpoint or method/i;

/** Matches errors about a refused key that do not say what to change. */
const unexplained = /^(?:unauthorized|forbidden)\.?$|gave no reason\.$/i;

/** Matches the errors that the Anthropic and Google SDKs throw if they have no key. They then send no request. */
const missingKey = /^could not (?:resolve authentication|load the default credentials)/i;

/** Adds a hint to an error about an unknown address or a missing key. Returns any other error unchanged. */
export function explainConnection(error: unknown, { address, key }: ConnectionHints): unknown {
  const read = toProviderError(error);
  if (isUnknownAddress(read)) return withHint(read, `The service has no such address. ${address}`);
  if (missingKey.test(read.message)) return withHint({ ...read, code: "auth" }, key);
  return read.code === "auth" && unexplained.test(read.message) ? withHint(read, key) : error;
}

function isUnknownAddress({ status, message }: ProviderError): boolean {
  return unknownEndpoint.test(message) || ((status === 404 || status === 405) && unknownAddress.test(message));
}

function withHint(error: ProviderError, hint: string): ProviderError {
  const { code, message } = error;
  return providerError(code, `${message.replace(/[^.]$/, "$&.")} ${hint}`, error);
}

/** Describes how to fix the `baseURL` of a client from OpenAI or Anthropic. Shows no credentials. */
export function describeBaseURL(client: object, hint: string): string {
  const { baseURL } = client as UnknownRecord;
  if (typeof baseURL !== "string" || !URL.canParse(baseURL)) return `Check the client's \`baseURL\`. ${hint}`;
  const { origin, pathname } = new URL(baseURL);
  return `Check the client's \`baseURL\`, which is ${origin}${pathname.replace(/\/$/, "")}. ${hint}`;
}
