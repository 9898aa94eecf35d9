// Servers and gateways may send a whole call twice. The model has still asked for it once.

import { parseToolArguments } from "./parse-arguments.ts";
import { stableJson } from "./stable-json.ts";

/** How two calls of one stream are compared. */
export interface CallFacts {
  /** As the service gave it. Calls without an id are never the same. */
  readonly id: string | undefined;
  readonly name: string;
  readonly argsText: string;
}

/** The finished calls of one stream. A call that repeats the id, the name and the arguments of one of them is that call. */
export class FinishedCalls<Call extends object> {
  readonly #ids = new Set<string>();
  readonly #calls = new Map<string, Call>();

  /** True if a finished call has this id. Tell nothing of a call that may repeat one before it has ended. */
  hasId(id: string | undefined): boolean {
    return id !== undefined && this.#ids.has(id);
  }

  /** Adds a finished call. Returns the call that it repeats, or undefined if it is new. */
  add(call: Call, { id, name, argsText }: CallFacts): Call | undefined {
    if (id === undefined || id === "") return undefined;
    const key = JSON.stringify([id, name, argumentsKey(argsText)]);
    const first = this.#calls.get(key);
    if (first !== undefined) return first;
    this.#ids.add(id);
    this.#calls.set(key, call);
    return undefined;
  }
}

/** True if two texts of arguments say the same: spaces and the order of keys do not matter. */
export function isSameArguments(one: string, other: string): boolean {
  return one === other || argumentsKey(one) === argumentsKey(other);
}

/** Arguments that no tool can take are compared as text. */
function argumentsKey(text: string): string {
  const parsed = parseToolArguments(text);
  if (!("args" in parsed)) return text;
  try {
    return stableJson(parsed.args);
  } catch {
    return text;
  }
}
