// A load balancer. It passes each call from Restate to one of the workers that answer.

import {
  type ClientHttp2Session,
  connect,
  constants,
  createServer,
  type Http2Session,
  type IncomingHttpHeaders,
  type ServerHttp2Stream,
} from "node:http2";
import { once } from "node:events";

const { HTTP2_HEADER_STATUS, NGHTTP2_CANCEL, NGHTTP2_INTERNAL_ERROR, NGHTTP2_NO_ERROR } = constants;

/** The time between two pings of a worker, in milliseconds. */
const pingMs = 100;

/** The number of bytes that a connection may send before they are acknowledged. */
const windowSize = 2 ** 24;

class Backend {
  readonly #url: string;
  readonly #leaseMs: number;
  readonly #timer: ReturnType<typeof setInterval>;
  #session: ClientHttp2Session | undefined;
  #answeredAt = 0;

  constructor(port: number, leaseMs: number) {
    this.#url = `http://127.0.0.1:${port}`;
    this.#leaseMs = leaseMs;
    this.#timer = setInterval(() => this.#check(), pingMs);
    this.#connect();
  }

  get session(): ClientHttp2Session | undefined {
    return this.#answeredAt > 0 ? this.#session : undefined;
  }

  #connect(): void {
    const session = (this.#session = connect(this.#url));
    this.#answeredAt = 0;
    session.on("connect", () => {
      session.setLocalWindowSize(windowSize);
      this.#ping(session);
    });
    session.on("error", () => {});
    session.on("close", () => {
      if (this.#session === session) this.#session = undefined;
    });
  }

  #ping(session: ClientHttp2Session): void {
    if (session.destroyed) return;
    session.ping((error) => {
      if (error === null && this.#session === session) this.#answeredAt = performance.now();
    });
  }

  #check(): void {
    const session = this.#session;
    if (session === undefined) this.#connect();
    else if (this.#answeredAt > 0 && performance.now() - this.#answeredAt > this.#leaseMs) session.destroy();
    else if (!session.connecting) this.#ping(session);
  }

  stop(): void {
    clearInterval(this.#timer);
    this.#session?.destroy();
  }
}

export interface Balancer {
  readonly url: string;
  /** Returns a function that removes the worker. */
  add(port: number): () => void;
  stop(): Promise<void>;
}

/** If a worker does not answer for `leaseMs`, it gets no more calls, and its calls are passed to other workers. */
export async function startBalancer(leaseMs: number): Promise<Balancer> {
  const backends = new Set<Backend>();
  let turn = 0;
  const server = createServer();
  const sessions = new Set<Http2Session>();
  server.on("session", (session) => {
    sessions.add(session);
    session.setLocalWindowSize(windowSize);
    session.on("error", () => {});
    session.once("close", () => sessions.delete(session));
  });
  server.on("stream", (stream, headers) => {
    const live = [...backends].flatMap(({ session }) => session ?? []);
    turn += 1;
    pass(stream, headers, live[turn % live.length]);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  return {
    url: `http://127.0.0.1:${typeof address === "object" && address !== null ? address.port : 0}`,
    add(port) {
      const backend = new Backend(port, leaseMs);
      backends.add(backend);
      return () => {
        backends.delete(backend);
        backend.stop();
      };
    },
    async stop() {
      for (const backend of backends) backend.stop();
      const closed = once(server, "close");
      server.close();
      for (const session of sessions) session.destroy();
      await closed;
    },
  };
}

function pass(stream: ServerHttp2Stream, headers: IncomingHttpHeaders, session: ClientHttp2Session | undefined): void {
  stream.on("error", () => {});
  if (session === undefined || session.closed || session.destroyed) {
    stream.respond({ [HTTP2_HEADER_STATUS]: 503 }, { endStream: true });
    return;
  }
  const call = session.request(headers);
  call.on("error", () => {});
  call.on("response", (answer) => {
    if (!stream.destroyed) stream.respond(answer);
  });
  call.on("close", () => {
    // A lost connection also emits "end".
    const isWhole = stream.headersSent && call.rstCode === NGHTTP2_NO_ERROR && call.readableEnded;
    if (isWhole) stream.end();
    else stream.close(NGHTTP2_INTERNAL_ERROR);
  });
  stream.on("close", () => call.close(NGHTTP2_CANCEL));
  stream.pipe(call);
  call.pipe(stream, { end: false });
}
