import { hasBrand } from "../utils/guards.ts";

/** A symbol that all copies of the package share, so that `isRequestError` works across ESM and CommonJS. */
const brand = Symbol.for("turnwright.RequestError");

/**
 * Thrown by `readUIChatRequest` and `readAGUIRequest` if a request is invalid. `status` is the HTTP status for the response: 400 for an
 * invalid body, 408 if the body takes too long, 413 if it is too large, 415 for a type that is not allowed. The message names the problem
 * and never quotes the body, so you can send the message to the page.
 */
export class RequestError extends Error {
  override readonly name = "RequestError";
  readonly status: 400 | 408 | 413 | 415;

  constructor(status: RequestError["status"], message: string, options?: ErrorOptions) {
    super(message, options);
    this.status = status;
    Object.defineProperty(this, brand, { value: true });
  }
}

/**
 * True if a value is a RequestError, even if another copy of the package created the error.
 *
 * @example if (isRequestError(error)) return new Response(error.message, { status: error.status });
 */
export function isRequestError(value: unknown): value is RequestError {
  return hasBrand(value, brand);
}
