// Preloaded into examples: whatever connects to another machine fails, so that an example cannot need a network or a key.

import { Socket } from "node:net";

const loopback = new Set(["localhost", "127.0.0.1", "::1"]);

/** The host of any of the shapes that `connect` takes: options, normalized arguments, or a port with a host. */
function hostOf([target, host]: readonly unknown[]): string {
  const options: unknown = Array.isArray(target) ? target[0] : target;
  const named: unknown = typeof options === "object" && options !== null && "host" in options ? options.host : host;
  return typeof named === "string" ? named : "localhost";
}

Socket.prototype.connect = new Proxy(Socket.prototype.connect, {
  apply(connect, socket, parameters) {
    const host = hostOf(parameters);
    if (!loopback.has(host)) throw new Error(`An example runs offline, but this one connects to ${host}.`);
    const connected: unknown = Reflect.apply(connect, socket, parameters);
    return connected;
  },
});
