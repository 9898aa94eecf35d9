import { isLoopError, type ModelChunk, type ModelRequest } from "turnwright";
import type { Adapter } from "./adapters.ts";
import { ask, type Iteration, runIteration } from "./provider-iteration.ts";
import type { Scripted } from "./scripted.ts";
import type { Connecting } from "./wire.ts";

/** One row of a table in docs/adapters.md. `find` sends requests with an adapter, and returns the text of the cell. */
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

/** A primitive value in a request, with its path. The path leaves out array indexes. */
export interface Leaf {
  readonly path: string;
  readonly value: unknown;
}

function leavesOf(value: unknown, path: readonly string[] = []): readonly Leaf[] {
  const fields = typeof value === "object" && value !== null ? Object.entries(value) : [];
  if (fields.length === 0) return [{ path: path.join("."), value }];
  return fields.flatMap(([key, inner]) => leavesOf(inner, Array.isArray(value) ? path : [...path, key]));
}

export function newIn(body: unknown, before: unknown): readonly Leaf[] {
  const plain = (value: unknown): readonly Leaf[] => leavesOf(JSON.parse(JSON.stringify(value)));
  const known = new Set(plain(before).map((leaf) => JSON.stringify(leaf)));
  return plain(body).filter((leaf) => !known.has(JSON.stringify(leaf)));
}

const placesOf = (leaves: readonly Leaf[]): string => [...new Set(leaves.map(({ path }) => `\`${path}\``))].join(", ");

/** Sends the request `plain`, and then `request`. Returns the values that only the body of `request` contains. */
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
 * Returns the paths at which `leaves` contain the value, or `no` if `leaves` is empty. Throws if `leaves` contain only other
 * values.
 */
export function placeOf(leaves: readonly Leaf[], value: unknown): string {
  const found = leaves.filter((leaf) => leaf.value === value);
  if (found.length > 0) return placesOf(found);
  if (leaves.length === 0) return no;
  throw new Error(`The request has changed, and does not say ${JSON.stringify(value)}: ${JSON.stringify(leaves)}`);
}

/** Calls `probe` with the first of `options` that the adapter supports. Returns undefined if there is none. */
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
