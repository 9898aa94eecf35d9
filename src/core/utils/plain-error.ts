// Errors as plain data, with what must not leave the process taken out.

import type { PlainError } from "../types/plain-error.ts";
import { isRecord } from "./is-record.ts";
import { redactText } from "./redact-secrets.ts";

const longestMessage = 2_000;
const deepestCause = 3;

/**
 * Makes plain data of anything thrown, and never throws itself. Non-errors keep their text; stacks and all other fields are
 * dropped; messages are cut to 2,000 characters and freed of credentials; causes go three deep, and of an AggregateError the
 * first error stands for the cause.
 *
 * @example toPlainError(new Error("no", { cause: "later" })); // { name: "Error", message: "no", cause: { name: "Error", message: "later" } }
 */
export function toPlainError(thrown: unknown): PlainError {
  return toPlain(thrown, 0);
}

function toPlain(thrown: unknown, depth: number): PlainError {
  const { name, message, code, cause } = factsOf(thrown);
  return {
    name,
    message: tidyMessage(message),
    ...(code === undefined ? {} : { code }),
    ...(cause === undefined || cause === null || depth >= deepestCause ? {} : { cause: toPlain(cause, depth + 1) }),
  };
}

/** Cuts the text of an error to 2,000 characters and frees it of credentials. */
export function tidyMessage(message: string): string {
  return redactText(message, longestMessage, "");
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
    if (!isRecord(thrown)) return { name: "Error", message: String(thrown) };
    const { name, message, code, cause, errors } = thrown;
    return {
      name: typeof name === "string" ? tidyMessage(name) : "Error",
      message: typeof message === "string" ? message : (JSON.stringify(thrown) ?? "unknown"),
      code: typeof code === "string" ? tidyMessage(code) : undefined,
      cause: cause ?? (Array.isArray(errors) ? errors[0] : undefined),
    };
  } catch {
    return { name: "Error", message: "an error that cannot be read" };
  }
}
