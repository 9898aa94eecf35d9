// What is noted on a span while it lasts: names and numbers of what happened besides.

import type { Attributes } from "@opentelemetry/api";
import { type LoopEvents, redactText } from "../core/provider-kit.ts";
import { cutName } from "../core/observe-kit.ts";
import { common, genAi, own } from "./names.ts";

/** Bounds of texts out of results. */
const longestText = 128;
const mostNames = 50;

type Call = Pick<LoopEvents["late-result"], "callId" | "name">;

const callFacts = ({ callId, name }: Call): Attributes => ({
  [genAi.toolName]: cutName(name),
  [genAi.toolCallId]: cutName(callId),
});

/** The events that are noted. */
export interface Noted {
  readonly "attempt-discarded": LoopEvents["attempt-discarded"];
  readonly restart: LoopEvents["restart"];
  readonly "loop-detected": LoopEvents["loop-detected"];
  readonly "approval-asked": LoopEvents["approval-asked"];
  readonly "approval-decided": LoopEvents["approval-decided"];
  readonly "late-result": LoopEvents["late-result"];
}

/** What is told of each. */
export const notes: { readonly [Type in keyof Noted]: (event: Noted[Type], capturesContent: boolean) => Attributes } = {
  "attempt-discarded": ({ attempt, error }) => ({ [own.attempt]: attempt, [common.errorType]: error.code }),
  // Both come out of the result of a tool, and may hold any text.
  restart: ({ suffix, disableTools, ...call }, capturesContent) => ({
    ...callFacts(call),
    ...(capturesContent
      ? {
          [own.restartSuffix]: redactText(suffix, longestText),
          [own.disabledTools]: disableTools.slice(0, mostNames).map((name) => redactText(name, longestText)),
        }
      : {}),
  }),
  "loop-detected": ({ toolName, count, cycle, action }) => ({
    [genAi.toolName]: cutName(toolName),
    [own.loopCount]: count,
    [own.cycle]: cycle,
    [own.loopAction]: action,
  }),
  "approval-asked": callFacts,
  "approval-decided": ({ decision, ...call }) => ({ ...callFacts(call), [own.decision]: decision }),
  "late-result": ({ success, ...call }) => ({ ...callFacts(call), [own.lateSuccess]: success }),
};
