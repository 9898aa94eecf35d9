// Calls of one message that a registry runs together. `withPlanner` uses this to pass all commands of a plan to one function.

import type { Message } from "../types/message.ts";
import type { Provider } from "../types/provider.ts";
import type { ToolRegistry } from "../types/loop-options.ts";

/** A global symbol, so that every loaded copy of the package finds the wave in a context. */
export const waveKey: unique symbol = Symbol.for("turnwright.Wave");

/** A global symbol for a function of a provider that wraps the registry of its runs. */
export const wrapToolsKey: unique symbol = Symbol.for("turnwright.WrapTools");

/** The calls that begin together and have not ended. */
export interface Wave {
  leave(callId: string): void;
}

/** A registry that runs all calls of some messages together, with any number of calls at the same time. */
export interface JoiningRegistry extends ToolRegistry {
  /** True if the calls of the last assistant message belong together. */
  joins?(messages: readonly Message[]): boolean;
  createWave?(callIds: readonly string[]): Wave;
}

type WrapTools = (registry: ToolRegistry) => JoiningRegistry;

interface WrappingProvider extends Provider {
  readonly [wrapToolsKey]?: WrapTools | undefined;
}

export function wrapTools({ [wrapToolsKey]: wrap }: WrappingProvider, registry: ToolRegistry): JoiningRegistry {
  return wrap === undefined ? registry : wrap(registry);
}

/** Returns undefined for a call that does not run together with others. */
export function waveOf(context: object): Wave | undefined {
  return (context as { readonly [waveKey]?: Wave | undefined })[waveKey];
}
