// Errors as plain data, with what must not leave the process taken out.

import type { PlainError } from "../contract/plain-error.ts";

const longestMessage = 2_000;
const deepestCause = 3;

/** Things that look like a credential: vendor keys, bearer tokens, basic credentials in a URL. */
const secrets = /\b(?:sk|pk|rk|key|AIza|ghp|gho|xox[abp])[-_][\w-]{8,}|\bAIza[\w-]{20,}|(?<=\bBearer\s+)[\w.~+/=-]{8,}|(?<=:\/\/)[^\s/@:]+:[^\s/@]+(?=@)/g;

/** Takes credentials out of a text that may be logged or shown. */
export function redactSecrets(text: string): string {
  return text.replace(secrets, "[redacted]");
}

/** Makes plain data of anything thrown. Non-errors keep their text; stacks are dropped; causes go three deep. */
export function toPlainError(thrown: unknown, depth = 0): PlainError {
  const { name, message, code, cause } = factsOf(thrown);
  return {
    name,
    message: redactSecrets(message.slice(0, longestMessage)),
    ...(code === undefined ? {} : { code }),
    ...(cause === undefined || depth >= deepestCause ? {} : { cause: toPlainError(cause, depth + 1) }),
  };
}

interface Facts {
  readonly name: string;
  readonly message: string;
  readonly code?: string | undefined;
  readonly cause?: unknown;
}

/** Reads what an error says; a getter that throws is an error of its own. */
function factsOf(thrown: unknown): Facts {
  try {
    if (typeof thrown !== "object" || thrown === null) return { name: "Error", message: String(thrown) };
    const { name, message, code, cause } = thrown as { readonly [field: string]: unknown };
    return {
      name: typeof name === "string" ? name : "Error",
      message: typeof message === "string" ? message : (JSON.stringify(thrown) ?? "unknown"),
      code: typeof code === "string" ? code : undefined,
      cause,
    };
  } catch {
    return { name: "Error", message: "an error that cannot be read" };
  }
}
