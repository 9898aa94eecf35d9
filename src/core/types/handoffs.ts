// The types of `policies.handoffs` that the core needs. The agents themselves are in the entry `turnwright/handoffs`.

/** The agents that a run may continue as. Created by `createHandoffs` from `turnwright/handoffs`. */
export interface Handoffs {
  readonly kind: "handoffs";
  /** All tools of the agents, and the tools for handoffs. Pass them in the option `tools` of the run. */
  readonly tools: readonly { readonly name: string }[];
  /**
   * Returns the same agents with a different first agent. To continue a conversation, pass the `agent` from the result of its last
   * run. Returns the agents unchanged for `undefined`, and for an agent that no longer exists.
   */
  startWith(agent: string | undefined): Handoffs;
}

/** One handoff: the run continued as another agent. */
export interface Handoff {
  /** The names of the agents. */
  readonly from: string;
  readonly to: string;
  /** The reason that the model gave. */
  readonly reason?: string | undefined;
  /** The number of the iteration that made the call, counted from 0, and the id of the call. */
  readonly iteration: number;
  readonly callId: string;
}
