import { hasBrand } from "../utils/guards.ts";

/** All copies of the package share this symbol, so that `isRequestError` works across ESM and CommonJS. */
const brand = Symbol.for("turnwright.RequestError");

/**
 * The error that `readUIChatRequest` and `readAGUIRequest` throw for an invalid request. `status` is the HTTP status for the
 * response: 400 for an invalid body, 408 for a body that takes too long, 413 for a body that is too large, 415 for a type that is
 * not allowed. You can send the message to the page, because it never quotes the body.
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
 * True if a value is a RequestError from this or another copy of the package.
 *
 * @example if (isRequestError(error)) return new Response(error.message, { status: error.status });
 */
export function isRequestError(value: unknown): value is RequestError {
  return hasBrand(value, brand);
}
