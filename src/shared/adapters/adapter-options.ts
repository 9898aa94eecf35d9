import { type Check, type Checks, is, isFilled } from "../errors/check-fields.ts";
import type { ErrorWord } from "../errors/error-words.ts";
import { LoopError } from "../errors/loop-error.ts";
import { errorWordsCheck } from "../errors/provider-checks.ts";
import type { FinishReason } from "../../core/types/provider.ts";
import { finishReasonsCheck } from "../judge-finish.ts";
import { recordOf } from "../plain-error.ts";

/** The options that all adapters for model services have. */
export interface AdapterOptions {
  /** The name of the API family, which policies such as `preToolText` can depend on. Default: none. */
  readonly family?: string | undefined;
  /**
   * Maps the service's additional finish reasons to turnwright's finish reasons, for example `{ "FUNCTION_CALL": "tool-calls" }`. These
   * entries take precedence over the built-in ones. Default: none.
   */
  readonly finishReasons?: { readonly [word: string]: FinishReason } | undefined;
  /**
   * Patterns for error messages, each with an error code, for services whose wording is not known yet. A pattern is matched against
   * the error's message. These entries take precedence over the built-in ones. Default: none.
   */
  readonly errorWords?: readonly ErrorWord[] | undefined;
}

/** An adapter's options with defaults filled in. The options in `Name` have defaults. */
export type Settled<Options, Name extends keyof Options> = Omit<Options, Name> & {
  readonly [Each in Name]-?: Exclude<Options[Each], undefined>;
};

/** Returns the options, with defaults for those that are absent or undefined. */
export function settle<Options extends object, Name extends keyof Options>(
  options: Options,
  defaults: { readonly [Each in Name]: Exclude<Options[Each], undefined> },
): Settled<Options, Name> {
  const given = Object.entries(options).filter(([, value]) => value !== undefined);
  return { ...defaults, ...Object.fromEntries(given) } as Settled<Options, Name>;
}

/** Returns a check that recognizes an SDK's client by one of its methods. */
export function clientCheck(expected: string, ...path: readonly string[]): Check {
  const methodOf = (client: unknown): unknown => path.reduce((found, name) => recordOf(found)[name], client);
  return [expected, (client) => typeof methodOf(client) === "function", undefined, true];
}

/** Throws LoopError "invalid-option" if the caller passed the client or the model directly instead of in an object. */
export function refuseBare(value: unknown, [, fits]: Check, [name, write]: readonly [name: string, write: string]): void {
  if (!fits(value)) return;
  const [expected, received] = [`an object with the ${name}`, `the ${name} itself`];
  throw new LoopError("invalid-option", { option: "options", expected, received, instead: write });
}

/** The checks for `AdapterOptions`, and for the `id`, `model` and `structuredOutput` options, which all adapters also have. */
export const adapterChecks: Checks<
  AdapterOptions & { readonly id?: string; readonly model: string; readonly structuredOutput?: boolean }
> = {
  id: is.name,
  model: ["the name of a model", isFilled, undefined, true],
  family: is.name,
  structuredOutput: is.flag,
  finishReasons: finishReasonsCheck,
  errorWords: errorWordsCheck,
};
