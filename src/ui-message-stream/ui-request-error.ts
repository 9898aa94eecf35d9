import { hasBrand } from "../core/entry-kit.ts";

/** Shared by all copies of the package, so that the guard works across ESM and CommonJS. */
const brand = Symbol.for("turnwright.UIRequestError");

/**
 * Thrown by `readUIChatRequest` for a body that cannot be used. `status` is the HTTP status to answer with: 400 for a wrong body, 413
 * for one that exceeds a limit, 415 for a type that is not allowed. The message names the problem and never quotes the body, so it
 * can be sent to the page.
 */
export class UIRequestError extends Error {
  override readonly name = "UIRequestError";
  readonly status: 400 | 413 | 415;

  constructor(status: 400 | 413 | 415, message: string, options?: ErrorOptions) {
    super(message, options);
    this.status = status;
    Object.defineProperty(this, brand, { value: true });
  }
}

/**
 * True for a UIRequestError of any copy of the package.
 *
 * @example if (isUIRequestError(error)) return new Response(error.message, { status: error.status });
 */
export function isUIRequestError(value: unknown): value is UIRequestError {
  return hasBrand(value, brand);
}
