// What others are shown of a list that the run goes on writing to. A view is a frozen array of its own: it can be cloned, spread and
// written as JSON, and whoever sorts or reverses it gets a TypeError. It is made when somebody reads it, once for each state of the list.

import type { Message } from "../../types/message.ts";
import { freezeDeep } from "../../utils/freeze-deep.ts";
import { toJson } from "../../utils/to-json.ts";

const views = new WeakMap<readonly unknown[], readonly unknown[]>();

/** Messages that the loop has made or copied, and frozen. */
const sealed = new WeakSet<Message>();

/** Keeps a message from being changed. */
export function seal<M extends Message>(message: M): M {
  sealed.add(message);
  return freezeDeep(message);
}

/** Levels of a message around the arguments and results in it. */
const envelope = 8;

/** A message that nobody else can change: the same one if a run made it, else a copy. Throws as `toJson` does. */
export function sealedCopy(message: unknown): unknown {
  return sealed.has(message as Message) ? message : toJson(message, envelope);
}

/** What to show of a transcript. It changes at its end only; after any other change `forgetView` is called. */
export function frozenView(messages: readonly Message[]): readonly Message[] {
  const known = views.get(messages) as readonly Message[] | undefined;
  if (known?.length === messages.length && known.at(-1) === messages.at(-1)) return known;
  for (let at = messages.length - 1; at >= 0; at -= 1) {
    const message = messages[at];
    if (message === undefined || Object.isFrozen(message)) break;
    seal(message);
  }
  const view = Object.freeze([...messages]);
  views.set(messages, view);
  return view;
}

/** Called after a change that is not at the end. */
export function forgetView(messages: readonly Message[]): void {
  views.delete(messages);
}
