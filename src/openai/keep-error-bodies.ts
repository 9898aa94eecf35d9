import { isRecord, recordOf } from "../core/kit.ts";
import { keepBody } from "../shared/errors/error-facts.ts";

const kept = new WeakSet<object>();

/**
 * Keeps the bodies of error responses. The SDK reads only the `error` field of a body, so the error's reason is lost if a service sends it
 * in a different field (github.com/appstrate/appstrate/issues/138). The client's errors do not change. `resource` is the part of the client
 * that sends the requests. Through it, the SDK's client is found even if `client` is a wrapper.
 */
export function keepErrorBodies(client: object, resource: object): void {
  const own: unknown = Reflect.get(resource, "_client");
  const sdk: object = isRecord(own) ? own : client;
  const make = recordOf(sdk).makeStatusError;
  if (typeof make !== "function" || kept.has(sdk)) return;
  kept.add(sdk);
  // Wraps `makeStatusError(status, body, message, headers)`, which exists in all SDK versions since 4.
  const value = (...args: readonly unknown[]): unknown => {
    const error: unknown = Reflect.apply(make, sdk, args);
    keepBody(error, args[1]);
    return error;
  };
  Reflect.defineProperty(sdk, "makeStatusError", { value, configurable: true, writable: true });
}
