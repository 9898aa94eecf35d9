import {
  checkFields,
  checkMessages,
  checkRequired,
  type Checks,
  is,
  type Json,
  type Message,
  numberWithin,
} from "../../core/entry-kit.ts";
import { readMessage, type ReadStart, whenBusyCheck } from "../start-options.ts";
import { checkRunId, toInputText } from "./create-durable-loop.ts";
import type { DurableHostFields, DurableStartOptions } from "./durable-host.ts";
import type { DurableLoopFields } from "./durable-loop.ts";

/** The input of one run, which the engine stores as JSON. */
export interface RunInput {
  readonly id: string;
  readonly input: Json;
  readonly messages: Json;
  /** True if the transcript must be repaired, because the previous run failed. */
  readonly repair: boolean;
}

const fieldChecks: Checks<DurableHostFields> = {
  name: is.text,
  options: is.fn,
  whenBusy: whenBusyCheck,
  maxCrashes: numberWithin({ min: 0 }),
};

/** Returns the fields of the durable loop that executes the runs of a host. */
export function toLoopFields(fields: DurableHostFields): DurableLoopFields<Json> {
  checkFields("fields", fields, fieldChecks);
  checkRequired(fields, fieldChecks, ["name", "options"]);
  return {
    name: fields.name,
    maxCrashes: fields.maxCrashes,
    options: async (run) => {
      const { id, input, messages, repair } = run as unknown as RunInput;
      const options = await fields.options({ id, input });
      return { ...(repair && { repair }), ...options, messages: messages as unknown as readonly Message[] };
    },
  };
}

/**
 * A run id is the id of the conversation, a slash, and a number of up to 9 digits. With this limit, the run id has at most 512
 * characters.
 */
export function checkConversation(id: string): void {
  checkRunId(id, 500);
}

const isAnything = (): boolean => true;

/** `readMessage` and `toInputText` check the fields that accept any value here. */
const startChecks: Checks<DurableStartOptions> = {
  message: ["a message", isAnything],
  messages: ["an array of messages", isAnything],
  regenerate: ["true", isAnything],
  whenBusy: whenBusyCheck,
  input: ["plain data", isAnything],
};

export type DurableStart = Pick<ReadStart, "message" | "messages" | "whenBusy">;

export function readDurableStart(options: DurableStartOptions): DurableStart {
  checkFields("options", options, startChecks);
  const { whenBusy, input = null } = options;
  toInputText(input);
  const given = readMessage(options);
  if (given.messages !== undefined) checkMessages(given.messages, false);
  return { ...given, whenBusy };
}
