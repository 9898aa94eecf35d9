// Clears tool results from requests ("masking"): old ones, and those that the model released with `context_release`.

import type { MaskingOptions } from "../types/middleware-options.ts";
import { frozenView } from "../../shared/transcript.ts";
import type { Middleware, State } from "../types/middleware.ts";
import { MaskedTranscript, type MaskingSource, readMaskingOptions, type ReleasedResults } from "./masked-transcript.ts";

/**
 * Clears old tool results from requests, and puts a short note in their place. The transcript keeps the full results. Errors and
 * the results that were passed in `messages` always remain. Put `maskResults` before middleware that filters or summarizes messages.
 *
 * Throws LoopError "unknown-option" or "invalid-option" if an option is invalid.
 *
 * @example await runToolLoop({ provider, tools, messages, middleware: [maskResults({ keepIterations: 3 })] });
 */
export function maskResults(options: MaskingOptions = {}): Middleware {
  const { force, ...rules } = readMaskingOptions("maskResults", options);
  return {
    name: "mask-results",
    // With `force`, the middleware is not pure, because the caller may change that set between executions. Its contents are therefore
    // recorded.
    ...(force === undefined && { pure: true }),
    begin: () => {
      const view = new MaskedTranscript(rules);
      const forcedIterations: number[] = [];
      const releases: ReleasedResults[] = [];
      return {
        async request(request, next, at) {
          const { state } = at;
          if (state.continuation === 0) {
            releases.push(...releasesIn(state));
            if (force !== undefined) forcedIterations.push(...(await at.step("force", () => [...view.findForced(force)])));
          }
          const masked = view.update(sourceOf(state, { forcedIterations, releases }));
          if (masked !== undefined) at.emit("masked", masked);
          // False if other middleware has replaced the messages, which must then be masked separately.
          const isWhole = request.messages === frozenView(state.messages);
          const messages = isWhole
            ? frozenView(view.messages)
            : request.messages.map((message) => view.replacementOf(message) ?? message);
          return next({ ...request, messages });
        },
      };
    },
  };
}

/** Returns the results that the model's calls have released. The calls in `lastBatch` belong to the previous iteration. */
function releasesIn({ lastBatch, iteration }: State): readonly ReleasedResults[] {
  return lastBatch.flatMap(({ outcome }) =>
    outcome.kind === "completed" && outcome.release !== undefined ? [{ iteration: iteration - 1, release: outcome.release }] : [],
  );
}

function sourceOf(
  { messages, iteration, functionHistory, before }: State,
  found: Pick<MaskingSource, "forcedIterations" | "releases">,
): MaskingSource {
  return { messages, iteration, functionHistory, iterationStart: before.messages, ...found };
}
