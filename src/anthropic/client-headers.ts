// Reads what an Anthropic client sends by itself. The SDK has no public way to ask for it. Each reader returns undefined for a client
// without the expected fields, such as a wrapper.

import { listOf, recordOf, type UnknownRecord } from "../core/provider-kit.ts";

/** Returns a default header of the client. The SDK accepts headers in several forms. */
export function headerOf(client: object, name: string): string | undefined {
  const { _options: options } = client as UnknownRecord;
  for (const [key, value] of listHeaders(recordOf(options).defaultHeaders)) {
    if (String(key).toLowerCase() !== name) continue;
    if (typeof value === "string") return value;
    if (Array.isArray(value)) return value.join(",");
  }
  return undefined;
}

function listHeaders(given: unknown): Iterable<readonly unknown[]> {
  if (given instanceof Headers) return given;
  if (Array.isArray(given)) return given.map(listOf);
  const { values } = recordOf(given);
  return values instanceof Headers ? values : Object.entries(recordOf(given));
}

/**
 * Returns the API version that the client's SDK sends. @anthropic-ai/sdk sends 2026-10-21 since its version 1.0.0. The clients for
 * Bedrock and Vertex AI are built on it, and do the same.
 */
export function sdkVersionOf(client: object): string | undefined {
  const { getUserAgent: read } = client as UnknownRecord;
  const agent: unknown = typeof read === "function" ? Reflect.apply(read, client, []) : undefined;
  const major = typeof agent === "string" ? /\/JS (\d+)\./.exec(agent)?.[1] : undefined;
  if (major === undefined) return undefined;
  return Number(major) >= 1 ? "2026-10-21" : "2023-06-01";
}
