// The error by which a tool ends the whole run.

import { hasBrand } from "../utils/guards.ts";

/** Shared by every copy of the package. */
const brand = Symbol.for("turnwright.FatalToolError");

/**
 * Thrown by a tool to end the run as `fatal-tool-error`, where going on makes no sense, such as a revoked licence. Any other
 * error is a failed result that the model reads.
 *
 * @example throw new FatalToolError("The database is gone.", { cause: error });
 */
export class FatalToolError extends Error {
  override readonly name = "FatalToolError";

  constructor(message?: string, options?: ErrorOptions) {
    super(message, options);
    Object.defineProperty(this, brand, { value: true });
  }
}

/** True for a FatalToolError, of any copy of the package. */
export function isFatalToolError(value: unknown): value is FatalToolError {
  return hasBrand(value, brand);
}
