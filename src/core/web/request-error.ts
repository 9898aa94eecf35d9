import type { Json } from "../types/json.ts";
import { hasBrand } from "../utils/guards.ts";

/** Shared by all copies of the package, so that the guard works across ESM and CommonJS. */
const brand = Symbol.for("turnwright.RequestError");

/**
 * Thrown by the readers of requests for a body that cannot be used. `status` is the HTTP status to answer with: 400 for a wrong body,
 * 413 for one that exceeds a limit, 415 for a type that is not allowed. The message names the problem and never quotes the body, so it
 * can be sent to the page.
 */
export class RequestError extends Error {
  override readonly name = "RequestError";
  readonly status: 400 | 413 | 415;

  constructor(status: 400 | 413 | 415, message: string, options?: ErrorOptions) {
    super(message, options);
    this.status = status;
    Object.defineProperty(this, brand, { value: true });
  }
}

/**
 * True for a RequestError of any copy of the package.
 *
 * @example if (isRequestError(error)) return new Response(error.message, { status: error.status });
 */
export function isRequestError(value: unknown): value is RequestError {
  return hasBrand(value, brand);
}

/** A result of a call from the page. */
export type UIResult = { readonly kind: "result"; readonly result: Json } | { readonly kind: "failed"; readonly error: string };
