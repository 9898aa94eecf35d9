// Each example loads this file first. It makes connections to other machines throw, so that no example depends on a network or an
// API key.

import { Socket } from "node:net";

const loopback = new Set(["localhost", "127.0.0.1", "::1"]);

/** `connect` takes options, or an array of normalized arguments, or a port and a host. */
function hostOf([target, host]: readonly unknown[]): string {
  const options: unknown = Array.isArray(target) ? target[0] : target;
  const named: unknown = typeof options === "object" && options !== null && "host" in options ? options.host : host;
  return typeof named === "string" ? named : "localhost";
}

Socket.prototype.connect = new Proxy(Socket.prototype.connect, {
  apply(connect, socket, parameters) {
    const host = hostOf(parameters);
    if (!loopback.has(host)) throw new Error(`This example connects to ${host}, but examples must run offline.`);
    const connected: unknown = Reflect.apply(connect, socket, parameters);
    return connected;
  },
});
