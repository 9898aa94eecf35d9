// A worker: a process that Restate calls over HTTP/2 to execute durable loops.

import { checkFields, type Checks, invalidOption, is, needed } from "../core/kit.ts";
import type { NumberRule } from "../shared/errors/check-fields.ts";
import { settle, type Settled } from "../shared/adapters/adapter-options.ts";
import { ProcessLoops } from "../host/durable/process-loops.ts";
import { type Looking, type RunWaits, WorkerSite } from "../host/durable/worker-site.ts";
import { Admin } from "./admin.ts";
import { requireNode22 } from "./run-in-workflow.ts";
import { RestateStore } from "./restate-store.ts";
import { createObjects, namesOf, type ServiceNames } from "./run-object.ts";
import { createRunWorkflow, type RunWorker } from "./run-workflow.ts";
import { once } from "node:events";
import { createServer, type Http2Session } from "node:http2";
import { createEndpointHandler } from "@restatedev/restate-sdk";

export interface HandlerServer {
  readonly port: number;
  /** Closes all connections, which also ends all calls from Restate. */
  stop(): Promise<void>;
}

export interface ServerOptions {
  readonly port: number;
  readonly host: string;
  readonly identityKeys?: readonly string[] | undefined;
}

type EndpointServices = Parameters<typeof createEndpointHandler>[0]["services"];

async function serveHandlers(services: EndpointServices, { port, host, identityKeys }: ServerOptions): Promise<HandlerServer> {
  const keys = identityKeys === undefined ? {} : { identityKeys: [...identityKeys] };
  // Discards the SDK's log output, because the Restate server already shows failed attempts.
  const server = createServer(createEndpointHandler({ services, ...keys, logger: () => {} }));
  const sessions = new Set<Http2Session>();
  server.on("session", (session) => {
    sessions.add(session);
    session.once("close", () => sessions.delete(session));
  });
  server.listen(port, host);
  await once(server, "listening");
  const address = server.address();
  return {
    port: typeof address === "object" && address !== null ? address.port : port,
    async stop() {
      const closed = once(server, "close");
      server.close();
      for (const session of sessions) session.destroy();
      await closed;
    },
  };
}

/** The options for `launchWorker`. */
export interface WorkerOptions {
  /** The URL of Restate's ingress, such as `http://localhost:8080`. */
  readonly ingressUrl: string;
  /** The URL of Restate's admin API, such as `http://localhost:9070`. */
  readonly adminUrl: string;
  /** The name of the application. Processes with the same name share their runs. Default "turnwright". */
  readonly name?: string | undefined;
  /** The port on which Restate calls this worker. Default 9080. With 0, the system chooses a free port. */
  readonly port?: number | undefined;
  /** The address on which this worker listens. Default "127.0.0.1", which only processes on the same machine can reach. */
  readonly host?: string | undefined;
  /**
   * The URL at which Restate reaches the workers. With several workers, use the URL of a load balancer in front of them. Default
   * `http://<host>:<port>`.
   */
  readonly url?: string | undefined;
  /** The public keys of the Restate server. If this option is set, only requests from this server are accepted. */
  readonly identityKeys?: readonly string[] | undefined;
  /**
   * How long a run that is waiting for a decision stays in its worker's memory, in milliseconds. After that, the run uses no worker until a
   * message arrives. Default 10,000.
   */
  readonly suspendMs?: number | undefined;
  /** How long a run's records and events are kept after it ends, in milliseconds. Default 30 days. */
  readonly retentionMs?: number | undefined;
  /**
   * How long a call such as `status`, `start` or `stop` waits for Restate to answer, in milliseconds. After that, the call rejects.
   * `result` and `events` keep waiting. Default 30,000.
   */
  readonly answerMs?: number | undefined;
  /** False for a process that only starts, reads and stops runs, such as a web server. Default true. */
  readonly runsLoops?: boolean | undefined;
}

/** A launched worker. */
export interface Worker {
  /** The id of this worker. Each process gets a new id. */
  readonly id: string;
  /** Stops the worker. Its runs continue in other workers, or when a worker is launched again. */
  stop(): Promise<void>;
}

const atLeastZero: NumberRule = { min: 0, infinite: false };
const checks: Checks<WorkerOptions> = {
  ingressUrl: /* @__PURE__ */ needed(is.text),
  adminUrl: /* @__PURE__ */ needed(is.text),
  name: is.text,
  port: { min: 0, max: 65_535, infinite: false },
  host: is.text,
  url: is.text,
  identityKeys: is.texts,
  suspendMs: atLeastZero,
  retentionMs: atLeastZero,
  answerMs: { min: 1, infinite: false },
  runsLoops: is.flag,
};

type Defaulted = "name" | "host" | "port" | "suspendMs" | "retentionMs" | "answerMs" | "runsLoops";

const defaults: { readonly [Name in Defaulted]-?: NonNullable<WorkerOptions[Name]> } = {
  name: "turnwright",
  port: 9_080,
  host: "127.0.0.1",
  suspendMs: 10_000,
  retentionMs: 30 * 24 * 3_600_000,
  answerMs: 30_000,
  runsLoops: true,
};

export type Settings = Settled<WorkerOptions, Defaulted>;

/** How often a worker checks which of its runs have new messages, in milliseconds. */
const lookMs = 200;

/** After this many checks, a worker reads the messages of all its runs, because an earlier check's answer may have been lost. */
const fullLooks = 50;

/** The initial delay between two reads by a polling reader, in milliseconds. The delay grows while nothing changes. */
const firstWaitMs = 30;
const waitGrowth = 1.4;
const maxWaitMs = 500;

/**
 * The longest time between two reads if this process executes the run, in milliseconds. This time may be long, because `#look`
 * wakes the reader when the run has new messages.
 */
const maxOwnWaitMs = 10_000;

/**
 * How long a stopping worker waits for its runs to call `resetStalls`, in milliseconds. With this call, a run reports that it did not
 * crash.
 */
const noteMs = 500;

export const here: ProcessLoops<WorkerProcess> = new ProcessLoops();

/**
 * Makes this process a worker that executes runs of durable loops. Serves the handlers, and registers them with Restate. Define
 * all durable loops first. Every process that starts, reads or stops runs must be a worker. A process can launch one worker at a
 * time.
 *
 * Throws LoopError "invalid-option" or "unknown-option" if `options` is invalid, and an error on Node 20. Rejects if Restate cannot be
 * reached.
 *
 * @example
 * const worker = await launchWorker({ ingressUrl: "http://localhost:8080", adminUrl: "http://localhost:9070" });
 */
export async function launchWorker(options: WorkerOptions): Promise<Worker> {
  requireNode22();
  checkFields("options", options, checks);
  const settings: Settings = settle<WorkerOptions, Defaulted>(options, defaults);
  const { name } = settings;
  if (!/^[a-zA-Z][\w.-]*$/.test(name))
    throw invalidOption(
      "name",
      "a name that starts with a letter and contains only letters, digits, dots, hyphens and underscores",
      name,
    );
  const worker = await here.launch(() => new WorkerProcess(settings));
  return { id: worker.id, stop: () => worker.stop() };
}

export class WorkerProcess extends WorkerSite implements RunWorker {
  readonly names: ServiceNames;
  readonly store: RestateStore;
  readonly admin: Admin;
  readonly settings: Settings;
  readonly loops: RunWorker["loops"] = here.loops;
  #server: HandlerServer | undefined;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #looks = 0;

  constructor(settings: Settings) {
    super();
    const { signal } = this.stopping;
    this.settings = settings;
    this.names = namesOf(settings.name);
    this.admin = new Admin(settings.adminUrl, signal);
    const { names, id: workerId } = this;
    const onChange = (runId: string, mayBeOver: boolean): void => {
      this.waits.wake(runId);
      if (mayBeOver) this.ends.wake(runId);
    };
    this.store = new RestateStore({ ingressUrl: settings.ingressUrl, names, workerId, signal, onChange });
  }

  async launch(): Promise<void> {
    const { runsLoops, host, url, retentionMs } = this.settings;
    await this.admin.check();
    if (!runsLoops) return;
    const { names, admin } = this;
    const services = [createRunWorkflow(this), ...createObjects({ names, admin, retentionMs })];
    const server = (this.#server = await serveHandlers(services, this.settings));
    await this.admin.register(url ?? `http://${host.includes(":") ? `[${host}]` : host}:${server.port}`);
    this.#lookSoon();
  }

  protected async end(): Promise<void> {
    here.leave(this);
    clearTimeout(this.#timer);
    // Stops the server first, so that this worker records nothing more and Restate calls the other workers immediately.
    await this.#server?.stop();
    const ended = this.abandonAll();
    // Waits only a limited time for abandoned runs to call `resetStalls`, because another worker must execute that call, and there may be
    // none.
    const noted = new Promise((resolve) => setTimeout(resolve, noteMs));
    await Promise.race([ended, noted]);
    this.stopping.abort(new Error("The worker in this process was stopped."));
    await ended;
  }

  #lookSoon(): void {
    this.#timer = setTimeout(() => {
      // Ignores an error from `#look`, for example while Restate restarts, because `#look` is called again after `lookMs`.
      const look = this.live.size === 0 ? Promise.resolve() : this.#look().catch(() => {});
      void look.then(() => {
        if (!this.stopping.signal.aborted) this.#lookSoon();
      });
    }, lookMs);
  }

  async #look(): Promise<void> {
    this.#looks += 1;
    const changed = await this.store.takeNotified();
    for (const runId of this.#looks % fullLooks === 0 ? this.live.keys() : changed) {
      this.waits.wake(runId);
      this.obeySoon(runId);
    }
  }

  get answerMs(): number {
    return this.settings.answerMs;
  }

  /** Calls `look` repeatedly, because Restate can only notify processes by calling their handlers. */
  protected override async look<T>(waits: RunWaits, { runId, look, signal }: Looking<T>): Promise<T> {
    let waitMs = firstWaitMs;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const lookOften = async (): Promise<T | undefined> => {
      clearTimeout(timer);
      const found = await look();
      if (found !== undefined) return found;
      timer = setTimeout(() => waits.wake(runId), Math.min(waitMs, this.live.has(runId) ? maxOwnWaitMs : maxWaitMs));
      waitMs *= waitGrowth;
      return undefined;
    };
    try {
      return await super.look(waits, { runId, look: lookOften, signal });
    } finally {
      clearTimeout(timer);
    }
  }
}
