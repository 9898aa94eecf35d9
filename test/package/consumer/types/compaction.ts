import { type LoopResult, type Message, type Provider, runToolLoop } from "turnwright";
import { compactMessages, type CompactedMessages, type CompactionOptions } from "turnwright/middleware";

const options: CompactionOptions = {
  when: 0.8,
  keep: 30_000,
  contextWindow: (_, model) => (model === "large" ? 1_000_000 : undefined),
};

export function goOn(
  provider: Provider,
  messages: readonly Message[],
  earlier: CompactedMessages | undefined,
): Promise<LoopResult> {
  return runToolLoop({ provider, messages, middleware: [compactMessages(options).startWith(earlier)] });
}
