import { type Check, type Checks, is, isFilled } from "../errors/check-fields.ts";
import type { ErrorWord } from "../errors/error-words.ts";
import { LoopError } from "../errors/loop-error.ts";
import { errorWordsCheck } from "../errors/provider-checks.ts";
import type { FinishReason } from "../../core/types/provider.ts";
import { finishReasonsCheck } from "../judge-finish.ts";

/** The options that all adapters to model services have. */
export interface AdapterOptions {
  /** The name of the API family. Policies such as `preToolText` can depend on this name. Default none. */
  readonly family?: string | undefined;
  /**
   * Maps further finish reasons of the service to those of turnwright, for example `{ "FUNCTION_CALL": "tool-calls" }`. These entries
   * take precedence over the built-in ones. Default none.
   */
  readonly finishReasons?: { readonly [word: string]: FinishReason } | undefined;
  /**
   * Texts of errors and the codes of these errors, for services whose wording is not known yet. A pattern is matched with the message
   * of the error. These entries take precedence over the built-in ones. Default none.
   */
  readonly errorWords?: readonly ErrorWord[] | undefined;
}

/** Throws LoopError "invalid-option" if the caller passed the client or the model itself instead of an object with it. */
export function refuseBare(
  value: unknown,
  fits: (value: unknown) => boolean,
  [name, write]: readonly [name: string, write: string],
): void {
  if (!fits(value)) return;
  const [expected, received] = [`an object with the ${name}`, `the ${name} itself`];
  throw new LoopError("invalid-option", { option: "options", expected, received, instead: write });
}

/** The check of the required option `model` of an adapter. */
export const modelCheck: Check = ["the name of a model", isFilled, undefined, true];

/** The checks of `AdapterOptions`, and of the options `id` and `structuredOutput`, which all adapters have too. */
export const adapterChecks: Checks<AdapterOptions & { readonly id?: string; readonly structuredOutput?: boolean }> = {
  id: is.name,
  family: is.name,
  structuredOutput: is.flag,
  finishReasons: finishReasonsCheck,
  errorWords: errorWordsCheck,
};
