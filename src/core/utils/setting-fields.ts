// Settings of an iteration as fields of a request.

import type { ModelSettings } from "../types/provider.ts";

/** The settings that were said, without `extra`, for wires that name them as they are named here. No stop sequence is none. */
export function toSettingFields({ maxOutputTokens, temperature, topP, stopSequences, seed }: ModelSettings): object {
  return {
    ...(maxOutputTokens === undefined ? {} : { maxOutputTokens }),
    ...(temperature === undefined ? {} : { temperature }),
    ...(topP === undefined ? {} : { topP }),
    ...(stopSequences === undefined || stopSequences.length === 0 ? {} : { stopSequences }),
    ...(seed === undefined ? {} : { seed }),
  };
}
