import { INVALID_SPAN_CONTEXT, trace } from "@opentelemetry/api";
import { createLoopControl, createLoopEvents, type LoopOptions } from "turnwright";
import type { LoopEventType } from "../../../src/core/types/loop-event.ts";
import { tracing } from "turnwright/observe";
import type { Fault } from "../faults.ts";
import { called, type Port, type Ports, portsOf, question, usualProvider } from "./port.ts";
import { addWatchers } from "../../add-watchers.ts";

const unnoticed = (over: Port["over"]): Port => ({ over, ends: ["answered"] });

const heard: readonly LoopEventType[] = ["run-start", "text-delta", "tool-start", "tool-end", "run-end", "listener-error"];

const traced = (stage: object): Partial<LoopOptions> =>
  addWatchers({ ...called(() => 1), provider: usualProvider(), messages: question, events: createLoopEvents() }, tracing(stage));

const span = (verb: string, fault: Fault): object =>
  Object.assign(trace.wrapSpanContext(INVALID_SPAN_CONTEXT), { isRecording: () => true, [verb]: fault });

const verbs = ["steer", "interrupt", "drain", "stop", "kill", "hasStopRequest", "isToolChainActive"];
const all = (fault: Fault): object => Object.fromEntries(verbs.map((verb) => [verb, fault]));

export const watchingPorts: Ports = {
  "an event listener": unnoticed((fault) => {
    const events = createLoopEvents();
    for (const type of heard) events.on(type, fault);
    return { events };
  }),
  "tracer.startSpan": unnoticed((fault) => traced({ tracer: { startSpan: fault } })),
  ...portsOf("span.", ["setAttributes", "addEvent", "setStatus", "end"], (verb) =>
    unnoticed((fault) => traced({ tracer: { startSpan: () => span(verb, fault) } })),
  ),
  "meter.createHistogram": unnoticed((fault) => traced({ meter: { createHistogram: fault, createCounter: fault } })),
  "histogram.record": unnoticed((fault) =>
    traced({ meter: { createHistogram: () => ({ record: fault }), createCounter: () => ({ add: fault }) } }),
  ),
  "the redact option of tracing": unnoticed((fault) => traced({ captureContent: true, redact: fault })),
  // A run reads the internal state of its control, and calls none of its methods.
  "every method of a loop control": unnoticed((fault) => ({ control: Object.assign(createLoopControl(), all(fault)) })),
  "every method of an object that imitates a control": {
    over: (fault) => ({ control: all(fault) as never }),
    ends: ["invalid-option"],
  },
};
