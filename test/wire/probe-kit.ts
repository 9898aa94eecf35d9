// Helpers for probes. A probe sends a request through an adapter, and checks the request and the response.

import { isLoopError, type ModelChunk, type ModelRequest } from "turnwright";
import type { Adapter } from "./adapters.ts";
import { ask, type Iteration, runIteration } from "./provider-iteration.ts";
import type { Scripted } from "./scripted.ts";
import type { Connecting } from "./wire.ts";

/** One row of a table. A probe throws if its finding is neither a yes nor a no. */
export interface Probe {
  readonly title: string;
  find(adapter: Adapter): Promise<string>;
}

export interface ProbeGroup {
  readonly title: string;
  readonly about: string;
  readonly probes: readonly Probe[];
}

export const no = "–";

export interface Probed {
  readonly iteration: Iteration;
  readonly chunks: readonly ModelChunk[];
  readonly bodies: readonly unknown[];
}

const mild: Scripted = { text: "Mild.", end: "stop" };

export async function send(
  adapter: Adapter,
  request: Partial<ModelRequest> = {},
  { script = [mild], ...connecting }: Connecting & { readonly script?: readonly Scripted[] } = {},
): Promise<Probed> {
  const { provider, bodies, close } = await adapter.open(script, connecting);
  const chunks: ModelChunk[] = [];
  const iteration = await runIteration(provider, ask("Oslo?", request), { onChunk: (chunk) => chunks.push(chunk) });
  await close();
  return { iteration, chunks, bodies };
}

/** A value in a request, and its path without array indexes. */
export interface Leaf {
  readonly path: string;
  readonly value: unknown;
}

function leavesOf(value: unknown, path: readonly string[] = []): readonly Leaf[] {
  const fields = typeof value === "object" && value !== null ? Object.entries(value) : [];
  if (fields.length === 0) return [{ path: path.join("."), value }];
  return fields.flatMap(([key, inner]) => leavesOf(inner, Array.isArray(value) ? path : [...path, key]));
}

/** Returns the values that one request has and another request does not have. */
export function newIn(body: unknown, before: unknown): readonly Leaf[] {
  const plain = (value: unknown): readonly Leaf[] => leavesOf(JSON.parse(JSON.stringify(value)));
  const known = new Set(plain(before).map((leaf) => JSON.stringify(leaf)));
  return plain(body).filter((leaf) => !known.has(JSON.stringify(leaf)));
}

const placesOf = (leaves: readonly Leaf[]): string => [...new Set(leaves.map(({ path }) => `\`${path}\``))].join(", ");

/** Returns the values that a request has in addition to a plain request. Throws if an iteration failed. */
export async function compare(
  adapter: Adapter,
  request: Partial<ModelRequest>,
  { plain = {}, ...connecting }: Connecting & { readonly plain?: Partial<ModelRequest> } = {},
): Promise<readonly Leaf[]> {
  const [before, after] = [await send(adapter, plain), await send(adapter, request, connecting)];
  for (const { iteration } of [before, after]) if (iteration.error !== undefined) throw new Error(iteration.error.message);
  return newIn(after.bodies[0], before.bodies[0]);
}

/**
 * Returns the paths of a value in the request, or `no` if the option did not change the request. Throws if the request changed
 * in another way.
 */
export function placeOf(leaves: readonly Leaf[], value: unknown): string {
  const found = leaves.filter((leaf) => leaf.value === value);
  if (found.length > 0) return placesOf(found);
  if (leaves.length === 0) return no;
  throw new Error(`The request has changed, and does not say ${JSON.stringify(value)}: ${JSON.stringify(leaves)}`);
}

/**
 * Runs the probe with the first of the options that the adapter supports. Returns undefined if the adapter supports none of
 * them.
 */
export async function withOption<Found>(
  options: readonly object[],
  probe: (option: object, name: string) => Promise<Found>,
): Promise<Found | undefined> {
  for (const option of options) {
    try {
      return await probe(option, Object.keys(option).join(", "));
    } catch (error) {
      if (!isLoopError(error) || error.code !== "unknown-option") throw error;
    }
  }
  return undefined;
}
