import { processResults } from "turnwright";
import type { LoopOptions, ResultPipeline } from "turnwright";
import { text, toolCall } from "turnwright/testing";
import { answersOf, play, type Playing, tool } from "../play.ts";

export const texts = (count: number, letter = "x"): string => letter.repeat(count * 4);

export function start(output: unknown, results: ResultPipeline, more: Partial<LoopOptions> = {}): Playing {
  return play([toolCall("give"), text("Done.")], {
    tools: [tool("give", () => output)],
    middleware: [processResults(results)],
    ...more,
  });
}

export const readingsOf = async (playing: Playing): Promise<readonly unknown[]> =>
  answersOf(await playing.result).map(({ result }) => result);

export const changesOf = ({ recording }: Playing): readonly unknown[] =>
  recording.events.flatMap((event) =>
    "tokensBefore" in event ? [`${event.type} ${event.tokensBefore} -> ${event.tokensAfter}`] : [],
  );

export const failuresOf = ({ recording }: Playing): readonly string[] =>
  recording.of("listener-error").map(({ event, error }) => `${event}: ${error.message}`);
