// #region typed
import { z } from "zod";
import { type Provider, runToolLoop, structuredOutput } from "turnwright";

const ticket = z.object({ title: z.string(), urgency: z.enum(["low", "high"]) });

export interface Ticket {
  readonly title: string;
  readonly urgency: "low" | "high";
}

export async function toTicket(provider: Provider, mail: string): Promise<Ticket | undefined> {
  const messages = [{ role: "user" as const, content: mail }];
  const result = await runToolLoop({ provider, messages, middleware: [structuredOutput(ticket)] });
  return result.output; // undefined if the run did not complete; `result.reason` says why
}
// #endregion typed
