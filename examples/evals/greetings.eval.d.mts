import type { LoopResult } from "turnwright";
import type { EvalCase, Evaluation } from "turnwright/evals";

export const greetings: Evaluation<EvalCase & { readonly question: string }, LoopResult>;
