import type { LoopStream } from "turnwright";
import { createPartialOutput, type DeepPartial, type PartialOutput, partialOutputs } from "turnwright/middleware";

interface Report {
  readonly days: readonly { readonly celsius: number }[];
}

export const partial: PartialOutput<Report> = createPartialOutput<Report>();

export async function last(stream: LoopStream<Report>): Promise<DeepPartial<Report> | undefined> {
  let value: DeepPartial<Report> | undefined;
  for await (value of partialOutputs(stream)) void value.days?.[0]?.celsius?.toFixed();
  return value;
}
