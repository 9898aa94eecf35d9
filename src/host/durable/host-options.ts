import { checkFields, type Checks, is, needed, refuseLoopOptions } from "../../core/kit.ts";
import { checkMessages } from "../../shared/transcript.ts";
import { repairMessages } from "../../shared/repair-messages.ts";
import type { Json, Message } from "../../core/index.ts";
import { type Handover, noHandover, withHandover } from "../../conversation/handover.ts";
import { keepRunsCheck } from "../../conversation/keep-runs.ts";
import { whenSuspendedCheck } from "../../conversation/waiting-calls.ts";
import { readMessage, type ReadStart, whenBusyCheck } from "../start-options.ts";
import { checkRunId, toInputText, toReturned } from "./create-durable-loop.ts";
import type { DurableHostFields, DurableStartOptions } from "./durable-host.ts";
import type { DurableLoopFields } from "./durable-loop.ts";

/** The input of one run, which the engine stores as JSON. */
export interface RunInput {
  readonly id: string;
  readonly input: Json;
  readonly messages: Json;
  /** True if the transcript must be repaired because the previous run failed. */
  readonly repair: boolean;
  /** The usage, cost, summary and agent that the earlier runs of the conversation pass on. */
  readonly handover?: Handover | undefined;
  /** The position of the first message that is removed from the conversation if an input check refuses the run. */
  readonly own?: number | undefined;
}

const fieldChecks: Checks<DurableHostFields> = {
  name: /* @__PURE__ */ needed(is.text),
  options: /* @__PURE__ */ needed(is.fn),
  wrapOptions: is.fn,
  whenBusy: whenBusyCheck,
  whenSuspended: whenSuspendedCheck,
  keepRuns: keepRunsCheck,
  maxCrashes: { min: 0 },
};

/** Returns the fields of the durable loop that executes the runs of a host. */
export function toLoopFields(fields: DurableHostFields): DurableLoopFields<Json> {
  refuseLoopOptions(fields, fieldChecks, toReturned);
  checkFields("options", fields, fieldChecks);
  return {
    name: fields.name,
    maxCrashes: fields.maxCrashes,
    wrapOptions: fields.wrapOptions,
    options: async (run) => {
      const { id, input, messages, repair, handover = noHandover } = run as unknown as RunInput;
      const options = withHandover(await fields.options({ id, input }), handover);
      const stored = messages as unknown as readonly Message[];
      return { ...options, messages: repair ? repairMessages(stored) : stored };
    },
  };
}

/**
 * Throws for an invalid conversation id. Its length is limited so that a run id, which adds a slash and up to 9 digits, has at most 512
 * characters.
 */
export function checkConversation(id: string): void {
  checkRunId(id, 500);
}

/** Checks the options of `start`. `readMessage` and `toInputText` check the fields that accept any value here. */
const startChecks: Checks<DurableStartOptions> = {
  message: is.any,
  messages: is.any,
  regenerate: is.any,
  whenBusy: whenBusyCheck,
  whenSuspended: whenSuspendedCheck,
  input: is.any,
};

export type DurableStart = Pick<ReadStart, "message" | "messages" | "whenBusy" | "whenSuspended">;

export function readDurableStart(options: DurableStartOptions): DurableStart {
  checkFields("options", options, startChecks);
  const { whenBusy, whenSuspended, input = null } = options;
  toInputText(input);
  const given = readMessage(options);
  if (given.messages !== undefined) checkMessages(given.messages);
  return { ...given, whenBusy, whenSuspended };
}
