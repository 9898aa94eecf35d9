// Adds the code that reads journals. Programs without journals leave it out.

import { decideIfNeeded } from "../../middleware/decide-call.ts";
import { pasts } from "../run.ts";
import { RunPast } from "./run-past.ts";

/**
 * Adds the code that continues runs from their journals. In a program that is not bundled, importing `turnwright` adds it, and
 * `memoryJournal`, `fileJournal` and the other journals in this package add it when you call them. Otherwise a bundler leaves it out, so
 * call this function if your bundle uses a journal that you wrote yourself.
 *
 * @example
 * enableJournals();
 * const result = await runToolLoop({ ...options, journal: myJournal });
 */
export function enableJournals(): void {
  pasts.begin = (run, nesting) => new RunPast(run, nesting);
  pasts.decide = decideIfNeeded;
}
