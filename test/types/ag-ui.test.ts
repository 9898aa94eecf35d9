import type * as ag from "@ag-ui/core";
import { expectTypeOf, it } from "vitest";
import type { AGUIEvent } from "turnwright/ag-ui";

type ToText<Name> = Name extends string ? `${Name}` : never;

/** A vendor's event type, with a string as its `type`. The vendor uses an enum, to which no string can be assigned. */
type WithString<Event> = { [Field in keyof Event]: Field extends "type" ? ToText<Event[Field]> : Event[Field] };

it("AGUIEvent: is assignable to the event type of @ag-ui/core if `type` is a string", () => {
  expectTypeOf<AGUIEvent>().toExtend<WithString<ag.AGUIEvent>>();
  expectTypeOf<{ type: "RUN_STARTED" }>().not.toExtend<WithString<ag.AGUIEvent>>();
});
