// The server of examples/web-chat in this process. Tests can pause its model in the middle of a text.

import { once } from "node:events";
import type { Server } from "node:http";
import type { AddressInfo } from "node:net";
import type { ConversationStore } from "turnwright/conversation";
import { createRunHost, type RunHost } from "turnwright/host";
import { bundlePage, type PageFiles } from "../../examples/web-chat/bundle-page.ts";
import { createScriptedModel } from "../../examples/web-chat/scripted-model.ts";
import { createShop, type Order, type Pace } from "../../examples/web-chat/tea-shop.ts";
import { createWebChatServer } from "../../examples/web-chat/web-chat-server.ts";

/** Pauses the model after a number of words, until `open` is called. */
export class Gate {
  #left = Number.POSITIVE_INFINITY;
  #waiting: (() => void)[] = [];

  readonly pace: Pace = async (signal) => {
    this.#left -= 1;
    if (this.#left >= 0) return;
    await new Promise<void>((resolve, reject) => {
      this.#waiting.push(resolve);
      signal.addEventListener("abort", () => reject(signal.reason as Error), { once: true });
    });
  };

  holdAfter(words: number): void {
    this.#left = words;
  }

  open(): void {
    this.#left = Number.POSITIVE_INFINITY;
    for (const pass of this.#waiting.splice(0)) pass();
  }
}

export interface Stage {
  readonly url: string;
  readonly host: RunHost;
  readonly gate: Gate;
  readonly orders: readonly Order[];
  close(): Promise<void>;
}

export interface StageOptions {
  readonly files?: PageFiles;
  readonly store?: ConversationStore;
  readonly port?: number;
}

let bundled: Promise<PageFiles> | undefined;

export function bundleOnce(): Promise<PageFiles> {
  bundled ??= bundlePage();
  return bundled;
}

export async function openStage({ files = new Map(), store, port = 0 }: StageOptions = {}): Promise<Stage> {
  const gate = new Gate();
  const orders: Order[] = [];
  const provider = createScriptedModel(gate.pace);
  const pricing = (): number => 0.001;
  const run = createShop({ provider, pricing, pace: gate.pace }, (order) => orders.push(order));
  const host = createRunHost({ store });
  const server: Server = createWebChatServer({ host, run, files }).listen(port, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    host,
    gate,
    orders,
    close: async () => {
      gate.open();
      await host.close();
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
