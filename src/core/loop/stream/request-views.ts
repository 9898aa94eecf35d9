// What a request shows of the transcript. The lists are made when somebody reads them: a long run would spend its time copying otherwise.

import type { Message } from "../../types/message.ts";
import { frozenView, seal } from "../state/frozen-view.ts";
import type { RequestViews, Run } from "../run/run.ts";

/** Makes them for a run. */
export function createRequestViews(run: Run): RequestViews {
  const { state } = run;
  const sent = createSentView(run);
  return {
    sent,
    messages: { get: sent, enumerable: true, configurable: true },
    transcript: {
      get messages() {
        return frozenView(state.messages);
      },
      given: state.givenMessages,
    },
  };
}

/** Finds what is sent of the transcript, with the context items at its end; before the turn where a paused one is resent. */
function createSentView(run: Run): () => readonly Message[] {
  let made: { readonly base: readonly Message[]; readonly context: Message; readonly view: readonly Message[] } | undefined;
  return () => {
    const { contextMessage: context, turnPlaced } = run.state;
    const base = frozenView((run.view ?? run.state).messages);
    if (context === undefined) return base;
    if (made?.base === base && made.context === context) return made.view;
    const end = turnPlaced ? base.length - 1 : base.length;
    made = { base, context, view: Object.freeze([...base.slice(0, end), seal(context), ...base.slice(end)]) };
    return made.view;
  };
}
