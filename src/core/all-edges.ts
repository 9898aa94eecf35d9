// Collects the functions that write error messages and advice. The main entry point and the adapters install them in `edges`, through which
// the loop calls them.

import { describeRule } from "../shared/errors/check-fields.ts";
import { describeError } from "./errors/error-messages.ts";
import { adviseName, adviseOption, advisePart, refuseSteps } from "./errors/foreign-words.ts";
import { describeFinish } from "./errors/finish-words.ts";
import { describeMessage, findMessageProblem } from "./errors/message-words.ts";
import { wordsOf } from "./errors/loop-ended-error.ts";
import { toProviderError } from "../shared/errors/read-sdk-error.ts";
import { checkHooks, checkOptions, checkTraits } from "./loop/check-options.ts";
import { checkStepRecord } from "./loop/check-record.ts";
import { checkGiven } from "./tools/given-fields.ts";
import { findAnswerIssue } from "../shared/answer-issue.ts";
import { describeFailure, explainToolSchema } from "./tools/schema-problems.ts";
import { checkDefinition, checkTool, describeDeferral } from "./tools/tool-problems.ts";
import { listToolChanges } from "./tools/schema-changes.ts";
import { addEdges, type Edges } from "../shared/edges.ts";
import { nearestName } from "../shared/nearest-name.ts";
import { adviseLossy, describeUnexpected, putInWords } from "../shared/value-words.ts";
import { redactJson, redactText } from "../shared/redact-secrets.ts";

const allEdges: Edges = {
  redactText,
  redactJson,
  readError: toProviderError,
  describeError,
  findToolChanges: listToolChanges,
  checkRecord: checkStepRecord,
  checkOptions,
  checkHooks,
  checkTraits,
  checkGiven,
  describeRule,
  describeValue: putInWords,
  describeUnexpected,
  describeFailure,
  describeReason: wordsOf,
  describeDeferral,
  refuseSteps,
  findSchemaProblem: explainToolSchema,
  findAnswerIssue,
  checkTool,
  checkDefinition,
  nearestName,
  adviseName,
  advisePart,
  describeMessage,
  findMessageProblem,
  describeFinish,
  adviseOption,
  adviseLossy,
};

/**
 * Adds full error messages, with advice. In a program that is not bundled, importing `turnwright` adds them. So does importing an entry
 * point that works without the main one, such as `turnwright/testing`. A bundler leaves them out, so that a web page or an edge function
 * loads less code. To keep the messages in a bundle, call this function.
 *
 * @example if (process.env.NODE_ENV !== "production") explainErrors();
 */
export function explainErrors(): void {
  addEdges(allEdges);
}
