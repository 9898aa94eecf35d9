// The rows of the feature table. The program of each library measures one row at a time.
import { agentRequests, secret, teamBudget } from "./script.js";

/** @type {readonly { readonly name: string, readonly title: string }[]} */
export const features = [
  {
    name: "outputCheck",
    title: `An output check refuses a streamed answer of ${secret.length} characters: what the listener has seen`,
  },
  { name: "inputCheck", title: "A slow input check refuses: what was shown and which tools ran before" },
  { name: "handoff", title: "Triage hands over to billing and back: requests, and whose transcript" },
  { name: "handoffCrash", title: "The process dies after a handoff, before the next request: what the next process repeats" },
  { name: "preliminary", title: "A tool yields 3 preliminary results: what the listener and the model get" },
  {
    name: "question",
    title: "A tool asks the user, and the process dies before the answer: questions and requests until the end",
  },
  { name: "partialObjects", title: "Structured output with 5 fields: partial objects while it streams" },
  { name: "invalidObject", title: "The object has a field of the wrong type: how the run ends" },
  { name: "tokenLimit", title: "A run reaches its token limit in the middle of its work: its text" },
  {
    name: "histories",
    title: "Stored histories in 4 formats (Chat Completions, Responses, Messages, UI messages): formats that can be imported",
  },
  {
    name: "team",
    title: `A lead and 3 parallel agents of ${agentRequests} requests share ${teamBudget.toLocaleString("en")} tokens: tokens above the budget`,
  },
  { name: "triggers", title: "The model calls 3 tools, and the text of the user matches the triggers of one: tools that run" },
  { name: "compile", title: "Type check of 50 typed tools, in addition to one" },
];
