// Middleware for handoffs: makes each request with the current agent's options.

import type { Answer, Hooks, Recorder, RequestDraft, State } from "../../core/kit.ts";
import type { Handoff } from "../../core/types/tool-outcome.ts";
import { applyHandoff } from "../../shared/apply-handoff.ts";
import type { AgentOptions } from "./agent-options.ts";
import { createHistoryView, type HandoffState } from "./filter-history.ts";
import { findAgent, namesOf, readSystem } from "./read-agent.ts";

const ignored = {
  name: "ToolFailure",
  message: "Ignored: only the first handoff in a message is carried out.",
};

export interface HandoffRules {
  readonly agents: ReadonlyMap<string, AgentOptions>;
  /** The names of tools that agents list. The other tools are available to all agents. */
  readonly listed: ReadonlySet<string>;
  readonly start: string;
  /** The number of messages before the handoff to `start`, if an earlier run in the conversation made one. */
  readonly startsAfter: number | undefined;
  readonly maxHandoffs: number;
}

interface CurrentAgent extends HandoffState {
  agent: string | undefined;
  agentSince: number | undefined;
  readonly handoffs: Handoff[];
}

export function createHooks({ agents, listed, start, startsAfter, maxHandoffs }: HandoffRules): Hooks {
  const own: CurrentAgent = { agent: start, agentSince: startsAfter, handoffs: [] };
  const view = createHistoryView(own, (name) => agents.get(name)?.history);
  let isBegun = false;
  let last: State["lastBatch"] | undefined;
  /** The newest message whose handoff was applied. */
  let carriedOut: Answer | undefined;
  /** Reads the results of each batch of calls once. */
  const read = (state: State): void => {
    if (state.lastBatch === last) return;
    last = state.lastBatch;
    applyHandoff(own, state);
  };
  /** Starts a resumed run with the agent that was recorded. */
  const begin = async (at: Recorder): Promise<void> => {
    if (isBegun) return;
    isBegun = true;
    const recorded = await at.step("agent", () => ({ agent: start, since: startsAfter }));
    own.agent = recorded.agent;
    own.agentSince = recorded.since;
  };
  return {
    async request(request, next, at) {
      await begin(at);
      read(at.state);
      const agent = findAgent(agents, own.agent);
      const { system, provider = request.provider, modelSettings = request.settings, toolChoice = request.toolChoice } = agent;
      const names = new Set<string>(namesOf(agent));
      const draft: RequestDraft = {
        ...request,
        agent: own.agent,
        provider,
        system: systemOf(system, at) ?? request.system,
        settings: modelSettings,
        toolChoice,
        tools: request.tools.filter(({ name }) => names.has(name) || !listed.has(name)),
        messages: view(request.messages) ?? request.messages,
      };
      return next(draft);
    },
    async call(call, next, at) {
      const outcome = await next(call);
      if (outcome.kind !== "completed" || outcome.handoff === undefined || own.agent === undefined) return outcome;
      const { durationMs, approvedArgs, handoff } = outcome;
      const answer = at.state.answers.at(-1);
      if (carriedOut === answer) return { call, durationMs, approvedArgs, kind: "failed", error: ignored };
      carriedOut = answer;
      at.end(outcome);
      at.emit("handoff", { from: own.agent, to: handoff.to, reason: handoff.reason });
      return outcome;
    },
    ends(state) {
      read(state);
      const { length: count } = own.handoffs;
      // Enforces the limit only in the handoff's own iteration, because a retry of the run would otherwise end again immediately.
      const isOver = count > maxHandoffs && state.phase === "calls" && own.handoffs.at(-1)?.iteration === state.iteration;
      return isOver ? { status: "error", reason: { kind: "handoff-cap", count } } : undefined;
    },
    result(state) {
      read(state);
      return { agent: own.agent, handoffs: [...own.handoffs] };
    },
  };
}

function systemOf(system: AgentOptions["system"], { context, session }: Recorder): string | undefined {
  return typeof system === "function" ? readSystem(system({ context, session })) : system;
}
