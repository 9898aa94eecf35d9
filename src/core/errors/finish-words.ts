// Explains why a finish reason counts as an error.

import type { ProviderErrorCode } from "../types/common.ts";
import { quote } from "../../shared/texts.ts";

/** Returns the explanation for an error code. `raw` is the finish reason as the service sent it. */
export function describeFinish(code: ProviderErrorCode, finish: string | undefined, raw: string | undefined): string {
  if (code === "stream-ended-early") return "The stream ended without a finish reason.";
  if (code === "finish-error") return `The model ended with an error${raw === undefined ? "" : ` (${raw})`}.`;
  if (code === "no-output")
    return finish === "tool-calls"
      ? 'The finish reason "tool-calls" came without calls or text.'
      : "The model reached its length limit without any output.";
  if (finish === "stop")
    return 'The stream has tool calls, but its finish reason is "stop". The provider must use "tool-calls" instead.';
  if (raw === undefined) return "The model stopped for an unknown reason.";
  const word = quote(raw);
  return `The model stopped for the unknown reason ${word}. Map it with the adapter's option "finishReasons": { ${word}: "stop" }.`;
}
